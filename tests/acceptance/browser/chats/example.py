"""Examples of docs/examples in a real browser: their code, on a page of the host's own origin."""

import json
import os
import re
from typing import Any

from playwright.sync_api import Locator, Page, Route

from tests.acceptance.host import ROOT, Host
from tests.conformance.node import bundled

PAGE = """<!doctype html><title>A chat</title><style>
main { font: 16px/1.5 sans-serif; max-width: 36rem; margin: 1rem auto; }
p { padding: .5rem .75rem; border-radius: .5rem; white-space: pre-wrap; }
.user { background: #dbeafe; margin-left: 8rem; } .assistant { background: #f1f5f9; }
output { color: #475569; margin-right: 1rem; }
</style><main></main><script src=/app.js></script>"""
ENDLESS = "A run goes on while nobody reads it. Reload this page: the answer is there, and grows."
PICTURES = os.environ.get("TAKE_PICTURES")
"""Set to take the examples' pictures again."""


def script_of(name: str, application: str) -> str:
    """The code of docs/examples/NAME.md with what puts it on a page, as one script."""
    example = (ROOT / "docs" / "examples" / f"{name}.md").read_text("utf-8")
    (code,) = re.findall(r"^```jsx\n(.*?)^```$", example, re.MULTILINE | re.DOTALL)
    return bundled(code + application)


class Application:
    """A page with a chat on it, and its requests for addresses that contain ``about``."""

    def __init__(self, page: Page, script: str, about: str) -> None:
        self.page, self.requests, self._about = page, list[str](), about

        def serve(route: Route) -> None:
            code = route.request.url.endswith("/app.js")
            kind = "text/javascript" if code else "text/html"
            route.fulfill(body=script if code else PAGE, content_type=kind)

        page.route(re.compile(r"/(application|app\.js)$"), serve)
        page.on("request", lambda request: self._note(request.method, request.url))

    def _note(self, method: str, url: str) -> None:
        if self._about in url:
            self.requests.append(f"{method} {url.rpartition('/')[2]}")

    def open(self, chat: str, script: list[dict[str, Any]]) -> None:
        self.page.goto("/application")
        self.page.evaluate(f"window.chat({json.dumps(chat)}, {json.dumps(script)})")

    @property
    def answer(self) -> Locator:
        return self.page.locator("p.assistant")

    def picture(self, name: str) -> None:
        """The picture in the documentation, if pictures are to be taken."""
        if PICTURES:
            self.page.set_viewport_size({"width": 720, "height": 200})
            self.page.screenshot(path=ROOT / "docs" / "images" / f"{name}.png")


def run_of(host: Host, chat: str) -> dict[str, Any]:
    with host.client() as client:
        (run,) = client.get("/api/v1/runs", params={"thread_id": chat}).json()["results"]
    return dict(run)


def text_of(host: Host, chat: str) -> str:
    """The text of the log of a chat's only run."""
    log = [row["event"] for row in host.events(run_of(host, chat)["id"])]
    return "".join(each["delta"] for each in log if each["type"] == "TEXT_MESSAGE_CONTENT")
