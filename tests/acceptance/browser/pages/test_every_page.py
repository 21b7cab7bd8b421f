"""Each page by axe, in its window's width, with nothing out of reach, and steady while it loads."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from tests.acceptance.browser.pages.every_page import FOR_STRANGERS, MORE_STATES, PAGES, seeded
from tests.acceptance.browser.pages.late import MOST_SHIFTED, LatePage
from tests.acceptance.browser.test_axe import SERIOUS, SIZES
from tests.acceptance.browser.test_team_pages import OUT_OF_REACH
from tests.acceptance.host import Host

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
EVERY = (*PAGES.values(), *MORE_STATES)
ONCE = [pytest.param(*SIZES[0], marks=pytest.mark.soak), *SIZES[1:]]


@pytest.fixture(scope="module")
def seed(host: Host) -> dict[str, Any]:
    return seeded(host)


DRAWN = "article.turn .conversation > [data-key]"
"""A part of a turn whose events a script has read; the page comes with the turn's words."""


def faults(late: LatePage, axe: Axe, address: str, width: int) -> Iterator[tuple[str, str, Any]]:
    page = late.page
    if not late.goto(address):
        return
    if page.locator("article.turn").count():
        page.wait_for_selector(DRAWN)
    real = page.evaluate("document.documentElement.scrollWidth")
    if real > width:
        yield address, "wider than its window", real
    for each in page.evaluate(OUT_OF_REACH, width):
        yield address, "out of reach", each
    if moves := late.moves():
        yield address, "moves while it loads", moves
    for violation in axe.run(page).response["violations"]:
        if violation["impact"] in SERIOUS:
            yield address, violation["id"], [node["html"][:160] for node in violation["nodes"][:3]]


@pytest.mark.parametrize(("width", "scheme"), ONCE)
def test_every_page_is_accessible(
    browser: Browser, host: Host, seed: dict[str, Any], width: int, scheme: Any
) -> None:
    axe, problems = Axe(), []
    for addresses, cookie in ((EVERY, seed["session"]), (FOR_STRANGERS, "")):
        context = browser.new_context(
            base_url=host.url, color_scheme=scheme, viewport={"width": width, "height": 900}
        )
        if cookie:
            context.add_cookies([{"name": "sessionid", "value": cookie, "url": host.url}])
        late = LatePage(context.new_page())
        for address in addresses:
            problems += faults(late, axe, address.format(**seed), width)
        context.close()
    assert problems == []


class Moving(BaseHTTPRequestHandler):
    """A page whose script moves it at once; a fast browser has painted nothing by then."""

    def do_GET(self) -> None:
        is_script = self.path == "/late.mjs"
        self.send_response(200)
        self.send_header("content-type", "text/javascript" if is_script else "text/html")
        self.end_headers()
        self.wfile.write((MOVE if is_script else MOVED).encode())

    def log_message(self, *args: object) -> None:
        pass


MOVED = """<!doctype html><style>p, pre { height: 300px; background: gray }</style>
<p>Text</p><script type="module" src="/late.mjs"></script>"""
MOVE = 'document.body.prepend(document.createElement("pre"))'


def test_what_a_late_script_moves_is_found(browser: Browser) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Moving) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        late = LatePage(browser.new_page())
        late.goto(f"http://127.0.0.1:{server.server_port}/")
        ((size, places),) = late.moves()
        assert size > MOST_SHIFTED
        assert places
        late.page.close()
        server.shutdown()
