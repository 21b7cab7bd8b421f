"""Each page by axe, in its window's width, and with nothing out of reach; on a phone in CI."""

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.acceptance.browser.pages.every_page import FOR_STRANGERS, PAGES, seeded
from tests.acceptance.browser.test_axe import SERIOUS, SIZES
from tests.acceptance.browser.test_team_pages import OUT_OF_REACH
from tests.acceptance.host import Host

pytestmark = pytest.mark.slow
ONCE = [pytest.param(*SIZES[0], marks=pytest.mark.soak), *SIZES[1:]]


@pytest.fixture(scope="module")
def seed(host: Host) -> dict[str, Any]:
    return seeded(host)


SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""
MOST_SHIFTED = 0.05
DRAWN = "article.turn .conversation > [data-key]"
"""A part of a turn whose events a script has read; the page comes with the turn's words."""


def faults(page: Page, axe: Axe, address: str, width: int) -> Iterator[tuple[str, str, Any]]:
    page.goto(address)
    if page.locator("article.turn").count():
        page.wait_for_selector(DRAWN)
    real = page.evaluate("document.documentElement.scrollWidth")
    if real > width:
        yield address, "wider than its window", real
    for each in page.evaluate(OUT_OF_REACH, width):
        yield address, "out of reach", each
    shifted = page.evaluate("window.shifted")
    if shifted > MOST_SHIFTED:
        yield address, "moves while it loads", shifted
    for violation in axe.run(page).response["violations"]:
        if violation["impact"] in SERIOUS:
            yield address, violation["id"], [node["html"][:160] for node in violation["nodes"][:3]]


@pytest.mark.parametrize(("width", "scheme"), ONCE)
def test_every_page_is_accessible(
    browser: Browser, host: Host, seed: dict[str, Any], width: int, scheme: Any
) -> None:
    axe, problems = Axe(), []
    for addresses, cookie in ((PAGES.values(), seed["session"]), (FOR_STRANGERS, "")):
        context = browser.new_context(
            base_url=host.url, color_scheme=scheme, viewport={"width": width, "height": 900}
        )
        if cookie:
            context.add_cookies([{"name": "sessionid", "value": cookie, "url": host.url}])
        context.add_init_script(SHIFTS)
        page = context.new_page()
        for address in addresses:
            problems += faults(page, axe, address.format(**seed), width)
        context.close()
    assert problems == []
