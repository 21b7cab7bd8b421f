"""The outline of a run in a real browser: without JavaScript, live, by keyboard, on a phone."""

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.browser.test_pages import CONTRAST, PHONE, ended, open_page, session
from tests.acceptance.host import Host

__all__ = ["open_page", "session"]

pytestmark = pytest.mark.slow

Open = Callable[..., Page]
ROWS = "#outline tbody tr"
WIDE = "w" * 300
Script = list[dict[str, Any]]


def emit(*events: dict[str, Any]) -> Script:
    return [{"emit": event} for event in events]


def call(id: str, name: str = "search", **owner: str) -> Script:
    tag = {"toolCallId": id, **owner}
    return emit(
        {"type": "TOOL_CALL_START", **tag, "toolCallName": name},
        {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": '{"q": "host"}'},
        {"type": "TOOL_CALL_END", "toolCallId": id},
        {"type": "TOOL_CALL_RESULT", "toolCallId": id, "messageId": f"{id}-r", "content": "ok"},
    )


TALK: Script = [
    {"text": "I ask the researcher."},
    *emit({"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "researcher"}),
    *call("c1", WIDE, subagentRunId="s"),
    *call("c2", subagentRunId="s"),
    *emit({"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": {"type": "success"}}),
    *emit({"type": "STEP_STARTED", "stepName": WIDE}, {"type": "STEP_FINISHED", "stepName": WIDE}),
    {"interrupt": {"reason": "approval", "message": f"May I? {WIDE}"}},
]


def kinds(page: Page) -> list[str | None]:
    return [row.get_attribute("data-kind") for row in page.locator(ROWS).all()]


def test_it_is_there_without_javascript(browser: Browser, host: Host, session: Any) -> None:
    run = ended(host, TALK)
    context = browser.new_context(
        base_url=host.url, storage_state=session, java_script_enabled=False
    )
    page = context.new_page()
    page.goto(f"/runs/{run}/")
    assert kinds(page) == ["message", "subagent", "tool", "tool", "step", "interrupt"]
    assert page.locator(ROWS).nth(3).get_attribute("data-depth") == "1"
    page.locator(f"{ROWS} a").nth(3).click()
    expect(page.locator("body")).to_contain_text("TOOL_CALL_START")
    expect(page.locator("body")).to_contain_text("c2")
    many = ended(host, [step for n in range(250) for step in call(f"c{n}")])
    page.goto(f"/runs/{many}/")
    assert page.locator(ROWS).count() == 200
    page.get_by_role("link", name="Later rows").click()
    assert page.locator(ROWS).count() == 50
    expect(page.get_by_role("link", name="Earlier rows")).to_be_visible()
    context.close()


def test_a_row_leads_to_its_events_by_mouse_and_keyboard(open_page: Open, host: Host) -> None:
    run = ended(host, TALK)
    page = open_page(f"/runs/{run}/")
    chosen = page.locator('.row[aria-selected="true"]')
    page.locator(ROWS).nth(3).click()
    expect(page).to_have_url(re.compile(r"#seq=10$"))
    expect(chosen).to_have_attribute("data-seq", "10")
    expect(chosen).to_be_in_viewport()
    expect(page.locator(ROWS).nth(3)).to_have_attribute("aria-current", "true")
    page.locator(f"{ROWS} a").nth(3).focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"#seq=5$"))
    expect(page.locator("#log")).to_be_focused()
    page.go_back()
    expect(chosen).to_have_attribute("data-seq", "10")
    assert page.locator(f'{ROWS} a[tabindex="0"]').count() == 1


def test_it_grows_with_the_run_and_is_drawn_alike_by_host_and_browser(
    open_page: Open, host: Host
) -> None:
    started = host.begin(script=[*TALK[:-1], {"sleep": 3}, *call("late"), {"forever": True}])
    run = started["id"]
    host.wait_status(run, "running")
    page = open_page(f"/runs/{run}/")
    expect(page.locator(ROWS)).to_have_count(6)
    expect(page.locator(ROWS).last).to_contain_text("succeeded")
    with host.client() as client:
        assert client.post(f"/api/v1/runs/{run}/cancel").is_success
    expect(page.locator(".title .chip")).to_have_text("cancelled")
    drawn = page.locator("#outline tbody").inner_html()
    page.reload()
    expect(page.locator(ROWS)).to_have_count(6)
    expect(page.locator(f'{ROWS} a[tabindex="0"]')).to_have_count(1)
    plain = [re.sub(r"\s+|\"", "", html) for html in (
        drawn, page.locator("#outline tbody").inner_html(),
    )]  # fmt: skip
    assert plain[0] == plain[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_it_fits_and_can_be_read(open_page: Open, host: Host, scheme: str) -> None:
    run = ended(host, [*TALK[:-1], {"raise": f"declined {WIDE}"}], threadId=str(uuid4()))
    page = open_page(f"/runs/{run}/", color_scheme=scheme, viewport=PHONE)
    expect(page.get_by_role("heading", name="Why it failed")).to_be_visible()
    expect(page.locator(ROWS)).to_have_count(6)
    page.locator(ROWS).first.click()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    ratio, where = page.evaluate(CONTRAST)
    assert ratio >= 4.5, where
