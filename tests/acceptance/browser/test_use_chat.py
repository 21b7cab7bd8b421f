"""docs/examples/use-chat.md in a real browser: ``useChat`` reloads in mid-answer, ten times."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.acceptance.browser.test_pages import Open, open_page, session
from tests.acceptance.host import ROOT, Host
from tests.conformance.node import bundled

__all__ = ["open_page", "session"]

EXAMPLE = (ROOT / "docs" / "examples" / "use-chat.md").read_text("utf-8")
(CODE,) = re.findall(r"^```jsx\n(.*?)^```$", EXAMPLE, re.MULTILINE | re.DOTALL)
APPLICATION = """
import { createRoot } from "react-dom/client";

window.chat = async (id, script) => {
  const messages = await load("scripted", id);
  const body = { forwardedProps: { script } };
  const chat = <Chat {...{ agent: "scripted", id, messages, body }} />;
  createRoot(document.querySelector("main")).render(chat);
};
"""
PAGE = "<!doctype html><title>A chat</title><main></main><script src=/app.js></script>"
RELOADS = 10


class Application:
    """A page of the host's own origin with the chat on it, and its requests for the chat."""

    def __init__(self, page: Page, script: str) -> None:
        self.page, self.requests = page, list[str]()

        def serve(route: Route) -> None:
            code = route.request.url.endswith("/app.js")
            kind = "text/javascript" if code else "text/html"
            route.fulfill(body=script if code else PAGE, content_type=kind)

        page.route(re.compile(r"/(application|app\.js)$"), serve)
        page.on("request", lambda request: self._note(request.method, request.url))

    def _note(self, method: str, url: str) -> None:
        if "/api/chat/" in url:
            self.requests.append(f"{method} {url.rpartition('/')[2]}")

    def open(self, chat: str, script: list[dict[str, Any]]) -> None:
        self.page.goto("/application")
        self.page.evaluate(f"window.chat({json.dumps(chat)}, {json.dumps(script)})")

    @property
    def answer(self) -> Any:
        return self.page.locator("p.assistant")


@pytest.fixture
def application(open_page: Open) -> Application:
    return Application(open_page("/runs/"), bundled(CODE + APPLICATION))


def run_of(host: Host, chat: str) -> dict[str, Any]:
    with host.client() as client:
        (run,) = client.get("/api/v1/runs", params={"thread_id": chat}).json()["results"]
    return dict(run)


@pytest.mark.soak  # ten reloads take too long for every change
def test_ten_reloads_in_mid_answer(application: Application, host: Host, tmp_path: Path) -> None:
    """The text is the log's, and each page asks once for its messages and once for the stream."""
    gate, chat = tmp_path / "gate", "use-chat-reloads"
    script = [{"text": "word", "n": 300, "rate": 100}, {"until": str(gate)}, {"text": "The end."}]
    application.open(chat, script)
    application.page.get_by_role("button", name="Send").click()
    expect(application.answer).to_contain_text(" 9 word")
    assert application.requests == [f"GET {chat}", "POST scripted"]
    for number in range(RELOADS):
        application.requests.clear()
        application.open(chat, script)
        expect(application.answer).to_contain_text(f" {10 + number} word")
        assert application.requests == [f"GET {chat}", "GET stream"]
    gate.touch()
    expect(application.answer).to_contain_text("The end.")
    expect(application.page.locator("output")).to_have_text("ready")
    log = [row["event"] for row in host.events(run_of(host, chat)["id"])]
    text = "".join(each["delta"] for each in log if each["type"] == "TEXT_MESSAGE_CONTENT")
    assert application.answer.text_content() == text
    assert application.requests == [f"GET {chat}", "GET stream"]


def test_stop_really_stops(application: Application, host: Host) -> None:
    chat = "use-chat-stop"
    application.open(chat, [{"text": "word", "n": 100_000, "rate": 50}])
    application.page.get_by_role("button", name="Send").click()
    expect(application.answer).to_contain_text(" 5 word")
    application.page.get_by_role("button", name="Stop").click()
    expect(application.page.locator("output")).to_have_text("ready")
    assert run_of(host, chat)["status"] == "cancelled"
