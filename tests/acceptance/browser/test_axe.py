"""Pages and their states by axe: nothing serious, in light and dark, on a phone and a desk."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.browser.test_pages import Open, ended, open_page, session
from tests.acceptance.browser.test_timeline import LANES, TALK
from tests.acceptance.host import Host
from tests.runs.asking import APPROVAL

__all__ = ["open_page", "session"]

pytestmark = pytest.mark.slow

SERIOUS = ("serious", "critical")
FAILING = [*TALK[:-1], {"text": "**Bold** and `code`"}, {"raise": "declined"}]
ASKING = [{"interrupt": {"reason": "confirm", "message": "Go on?", "response_schema": APPROVAL}}]
OPEN_CARDS = "for (const card of document.querySelectorAll('details')) card.open = true"
ADDRESSES = (
    "/runs/", "/runs/import", "/inbox/", "/team/", "/team/keys/", "/team/shared/", "/agents/",
    "/agents/docs/", "/agents/docs/change", "/agents/connect", "/team/received/", "/team/audit/",
)  # fmt: skip
SIZES = [
    (1280, "light"),
    (390, "dark"),
    pytest.param(1280, "dark", marks=pytest.mark.soak),
    pytest.param(390, "light", marks=pytest.mark.soak),
]
OPENED_ELSEWHERE = (390, "dark")


@pytest.fixture(scope="module")
def runs(host: Host) -> dict[str, str]:
    link = ended(host, TALK[:-1])
    with host.client() as client:
        shared = client.post("/api/v1/grants", json={"run": link}).json()["url"]
    return {"failed": ended(host, FAILING), "asking": ended(host, ASKING), "shared": shared}


def pages(page: Page, runs: dict[str, str]) -> Iterator[str]:
    """Pages as they open; ``pages/test_every_page.py`` opens all, on a dark phone."""
    failed, asking = f"/runs/{runs['failed']}/", f"/runs/{runs['asking']}/"
    for address in (*ADDRESSES, f"{failed}change", f"{failed}compare", asking):
        page.goto(address)
        yield address


def states(page: Page, runs: dict[str, str]) -> Iterator[str]:
    """States that a page reaches by keys and clicks, one after another."""
    failed = f"/runs/{runs['failed']}/"
    page.goto(failed)
    expect(page.locator(LANES)).not_to_have_count(0)
    yield "timeline"
    page.keyboard.press("m")
    expect(page.locator("#conversation .tool")).to_have_count(2)
    page.evaluate(OPEN_CARDS)
    yield "conversation, cards open"
    for key in "esi":
        page.keyboard.press(key)
        yield f"tab {key}"
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    yield "keys"
    page.keyboard.press("Escape")
    page.locator("#open-share").click()
    yield "share"
    page.goto(failed)
    page.get_by_role("link", name="Conversation", exact=True).click()
    expect(page.locator("article.turn .tool").first).to_be_visible()
    page.evaluate(OPEN_CARDS)
    yield "thread"
    page.goto(runs["shared"])
    expect(page.locator(LANES)).not_to_have_count(0)
    yield "shared page"


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_nothing_serious(
    open_page: Open, browser: Browser, runs: dict[str, str], width: int, scheme: str
) -> None:
    page = open_page("/runs/", color_scheme=scheme, viewport={"width": width, "height": 900})
    axe, problems = Axe(), []
    opened = () if (width, scheme) == OPENED_ELSEWHERE else pages(page, runs)
    for view in chain(opened, states(page, runs)):
        for violation in axe.run(page).response["violations"]:
            if violation["impact"] in SERIOUS:
                places: list[Any] = [node["html"][:160] for node in violation["nodes"][:3]]
                problems.append((view, violation["id"], places))
    assert problems == []
