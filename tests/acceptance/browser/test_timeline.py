"""The timeline of a run in a real browser: its rows, its scrubber, and one selection everywhere."""

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.browser.test_pages import (
    PHONE,
    all_can_be_read,
    ended,
    open_page,
    session,
)
from tests.acceptance.host import Host

__all__ = ["open_page", "session"]

pytestmark = pytest.mark.slow

Open = Callable[..., Page]
LANES = "#timeline .lane"
CHOSEN = f'{LANES}[aria-selected="true"]'
WIDE = "w" * 300
KEYS_IN_ONE_FRAME = """(element, keys) => {
    const pressed = (key) => new KeyboardEvent("keydown", { key, bubbles: true });
    for (const key of keys) element.dispatchEvent(pressed(key));
}"""
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
    *emit({"type": "STATE_SNAPSHOT", "snapshot": {"found": 1}}),
    *call("c2", subagentRunId="s"),
    *emit({"type": "STATE_SNAPSHOT", "snapshot": {"found": 2}}),
    *emit({"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": {"type": "success"}}),
    *emit({"type": "STEP_STARTED", "stepName": WIDE}, {"type": "STEP_FINISHED", "stepName": WIDE}),
    {"interrupt": {"reason": "approval", "message": f"May I? {WIDE}"}},
]


def kinds(page: Page, rows: str) -> list[str | None]:
    return [row.get_attribute("data-kind") for row in page.locator(rows).all()]


def test_its_rows_are_there_without_javascript(browser: Browser, host: Host, session: Any) -> None:
    rows = "#outline tbody tr"
    run = ended(host, TALK)
    context = browser.new_context(
        base_url=host.url, storage_state=session, java_script_enabled=False
    )
    page = context.new_page()
    page.goto(f"/runs/{run}/")
    assert kinds(page, rows) == [
        "queue", "attempt", "message", "subagent", "tool", "state", "tool", "state", "step",
        "interrupt",
    ]  # fmt: skip
    assert page.locator(rows).nth(6).get_attribute("data-depth") == "1"
    page.locator(f"{rows} a").nth(6).click()
    expect(page.locator("body")).to_contain_text("TOOL_CALL_START")
    expect(page.locator("body")).to_contain_text("c2")
    many = ended(host, [step for n in range(250) for step in call(f"c{n}")])
    page.goto(f"/runs/{many}/")
    assert page.locator(rows).count() == 200
    page.get_by_role("link", name="Later rows").click()
    assert page.locator(rows).count() == 52
    expect(page.get_by_role("link", name="Earlier rows")).to_be_visible()
    context.close()


def test_one_selection_in_every_view_and_back_leads_out(open_page: Open, host: Host) -> None:
    page = open_page(f"/runs/{ended(host, TALK)}/")
    expect(page.locator(LANES)).to_have_count(10)
    page.locator(LANES).nth(5).click()
    expect(page).to_have_url(re.compile(r"#timeline&seq=11$"))
    expect(page.locator("#as-of")).to_contain_text("As of #11")
    expect(page.locator("#timeline .chosen")).to_contain_text("search")

    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"#seq=11$"))
    expect(page.locator("#log")).to_be_focused()
    row = page.locator('.row[aria-selected="true"]')
    expect(row).to_have_attribute("data-seq", "11")
    expect(row).to_be_in_viewport()
    page.keyboard.press("m")
    expect(page.locator("#conversation [aria-current]")).to_contain_text("search")
    page.keyboard.press("s")
    expect(page).to_have_url(re.compile(r"#state&seq=11$"))
    expect(page.locator("#state-tree")).to_contain_text("found:1")

    page.go_back()
    expect(page.locator("#conversation")).to_be_visible()
    page.locator("#conversation .message").first.click()
    page.keyboard.press("t")
    expect(page.locator(CHOSEN)).to_have_attribute("data-kind", "message")
    page.go_back()
    page.go_back()
    expect(page.locator("#conversation [aria-current]")).to_contain_text("search")

    page.get_by_role("button", name="Back to the whole run").click()
    expect(page.locator("#as-of")).to_be_hidden()
    page.keyboard.press("s")
    expect(page.locator("#state-tree")).to_contain_text("found:2")


def test_by_keyboard(open_page: Open, host: Host) -> None:
    page = open_page(f"/runs/{ended(host, TALK)}/#timeline&seq=6")
    lanes = page.get_by_role("treegrid")
    expect(page.locator(CHOSEN)).to_contain_text(WIDE[:50])
    page.keyboard.press("c")
    expect(page).to_have_url(re.compile("#timeline&seq=11$"))
    page.keyboard.press("Shift+C")
    expect(page).to_have_url(re.compile("#timeline&seq=6$"))
    lanes.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(CHOSEN)).to_have_attribute("aria-level", "1")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(LANES)).to_have_count(8)
    expect(page.locator(CHOSEN)).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    expect(page.locator(CHOSEN)).to_have_attribute("data-kind", "interrupt")
    page.keyboard.press("Enter")
    expect(page.locator("#detail")).to_contain_text("RUN_FINISHED")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("Next tool call")
    page.keyboard.press("m")  # the keys of the page are not those of its dialogs
    expect(page.locator("#log")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator("#as-of")).to_be_hidden()


def test_the_minimap_selects_and_zooms_and_a_lane_can_be_seen_alone(
    open_page: Open, host: Host
) -> None:
    page = open_page(f"/runs/{ended(host, [*TALK[:2], {'sleep': 1}, *TALK[2:]])}/")
    expect(page.locator(".busiest")).to_contain_text("%")
    page.locator(".busiest button").click()
    expect(page.locator(CHOSEN)).to_be_visible()
    page.locator(".axis").get_by_text("Events").click()
    scrubber = page.get_by_role("slider")
    scrubber.scroll_into_view_if_needed()
    box = scrubber.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] - 1, box["y"] + 10)
    expect(page.locator(CHOSEN)).to_have_attribute("data-kind", "interrupt")
    scrubber.evaluate(KEYS_IN_ONE_FRAME, ["Home", "ArrowRight"])
    expect(scrubber).to_have_attribute("aria-valuenow", "2")
    page.mouse.move(box["x"] + 20, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 10, steps=3)
    page.mouse.up()
    page.get_by_role("button", name="Whole run", exact=True).click()
    expect(page.get_by_role("button", name="Whole run", exact=True)).to_be_hidden()
    page.locator(LANES).nth(3).click()
    page.get_by_role("button", name="Only this lane").click()
    expect(page.locator(LANES)).to_have_count(3)
    expect(page).to_have_url(re.compile("&lane=s$"))
    page.reload()
    expect(page.locator(LANES)).to_have_count(3)
    page.get_by_role("button", name="All lanes").click()
    expect(page.locator(LANES)).to_have_count(10)


def test_by_a_link_it_shows_nothing_that_the_link_hides(browser: Browser, host: Host) -> None:
    run = ended(host, TALK)
    with host.client() as client:
        terms = {"run": run, "redact": ["q"]}
        link = client.post("/api/v1/grants", json=terms).json()["url"]
    context = browser.new_context()
    page = context.new_page()
    page.goto(link)
    expect(page.locator(LANES)).to_have_count(8)
    expect(page.locator("#count-events")).to_have_text(str(len(host.events(run))))
    page.locator(LANES).nth(5).click()
    expect(page).to_have_url(re.compile("#timeline&seq=11$"))
    expect(page.locator("#timeline .chosen")).to_contain_text("search")
    text = page.locator("#timeline").inner_text()
    assert not re.search("host|null", text)
    context.close()


def test_it_grows_with_the_run(open_page: Open, host: Host) -> None:
    begun = emit({"type": "TOOL_CALL_START", "toolCallId": "long", "toolCallName": "wait"})
    run = host.begin(script=[*TALK[:-1], *begun, {"forever": True}])["id"]
    host.wait_status(run, "running")
    page = open_page(f"/runs/{run}/")
    page.keyboard.press("t")
    expect(page.locator(LANES)).to_have_count(10)
    bar = page.locator(f"{LANES} .took").last
    before = bar.inner_text()
    expect(bar).not_to_have_text(before)
    with host.client() as client:
        assert client.post(f"/api/v1/runs/{run}/cancel").is_success
    expect(page.locator(".title .chip")).to_have_text("cancelled")
    expect(page.locator(LANES).last).to_contain_text("pending")


def test_on_a_phone_it_fits_and_can_be_read(open_page: Open, host: Host) -> None:
    run = ended(host, [*TALK[:-1], {"raise": f"declined {WIDE}"}], threadId=str(uuid4()))
    page = open_page(f"/runs/{run}/", viewport=PHONE)
    expect(page.get_by_role("heading", name="Why it failed")).to_be_visible()
    expect(page.locator(LANES)).to_have_count(10)
    expect(page.locator(CHOSEN)).to_have_attribute("data-kind", "error")
    labels = [each.inner_text().strip() for each in page.locator(f"{LANES} .what").all()]
    assert labels[0] == "queue"
    assert labels[1].startswith("attempt ")
    assert all(labels), "a row says what it is"
    page.locator(LANES).first.click()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    all_can_be_read(page, "the timeline")


def test_it_plays_and_the_conversation_is_as_of_the_event(open_page: Open, host: Host) -> None:
    words = [step for n in range(5) for step in ({"text": f"Word {n}."}, {"sleep": 0.4})]
    run = ended(host, [*words, {"sleep": 3}, {"text": "At last."}])
    page = open_page(f"/runs/{run}/#messages")
    messages = page.locator("#conversation .message:visible")
    expect(messages).to_have_count(6)
    page.get_by_role("button", name="Play the run").click()
    expect(messages).to_have_count(1)
    expect(page.locator("#ahead")).to_contain_text("Later: 5.")
    expect(messages).to_have_count(3)
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Play the run")).to_be_visible()
    page.get_by_role("button", name="Show what came later").click()
    expect(messages).to_have_count(6)
    page.keyboard.press("p")
    page.keyboard.press("v")
    expect(page.get_by_label("Speed")).to_have_value("4")
    expect(messages).to_have_count(6)
    expect(page.get_by_role("button", name="Play the run")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#as-of")).to_be_hidden()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Play faster")
