"""What people come for, each within a number of clicks and keys; and a run as a file, offline."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.acceptance.browser.test_inbox import no_undo
from tests.acceptance.browser.test_pages import Open, ended, open_page, session
from tests.acceptance.browser.test_timeline import CHOSEN, LANES, TALK, call, emit
from tests.acceptance.host import Host
from tests.runs.asking import APPROVAL

__all__ = ["open_page", "session"]

pytestmark = pytest.mark.slow

TRICKS = "</script><script>document.title = 'tricked'</script><!-- <b>bold</b>"
SLOW = [
    *call("quick", "look"),
    *call("slow", "audit")[:1],
    {"sleep": 0.3},
    *call("slow", "audit")[1:],
]


class Hands:
    """Clicks and keys of a person, counted; text that is typed into a field is not."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.count = 0

    def click(self, target: Locator) -> None:
        self.count += 1
        target.click()

    def press(self, key: str) -> None:
        self.page.wait_for_load_state()  # before, no script of the page listens
        self.count += 1
        self.page.keyboard.press(key)

    def button(self, name: str) -> None:
        self.click(self.page.get_by_role("button", name=name, exact=True))

    def link(self, name: str) -> None:
        self.click(self.page.get_by_role("link", name=name))

    @contextmanager
    def within(self, most: int) -> Iterator[None]:
        self.count = 0
        yield
        assert 0 <= self.count <= most, f"{self.count} clicks and keys"


def test_understand_a_failure(open_page: Open, host: Host) -> None:
    thread = f"tasks-{uuid4()}"
    good = ended(host, [*SLOW, {"text": "Paid."}], threadId=f"{thread}-0")
    bad = ended(host, [*SLOW, {"raise": "insufficient funds"}], threadId=thread)
    page = open_page("/runs/")
    hands = Hands(page)
    with hands.within(3):  # yesterday's failure of an agent
        hands.press("/")
        page.keyboard.type(f"agent:scripted status:failed since:yesterday thread:{thread}")
        hands.press("Enter")
        expect(page.locator("tr[id^=run-]")).to_have_count(1)
        hands.link("scripted")
        expect(page).to_have_url(re.compile(f"/runs/{bad}/"))
    with hands.within(1):  # why it failed
        why = page.get_by_role("region", name="Why it failed")
        expect(why).to_contain_text("insufficient funds")
        expect(why).to_contain_text("after the tool call audit")
    with hands.within(1):  # the slowest tool
        hands.click(page.locator(".busiest button"))
        expect(page.locator(CHOSEN)).to_contain_text("audit")
    with hands.within(2):  # export
        hands.press("e")
        with page.expect_download() as download:
            hands.click(page.get_by_role("link", name="events", exact=True))
        lines = Path(download.value.path()).read_bytes().splitlines()
        assert len(lines) == len(host.events(bad))
    with hands.within(2):  # compare with the last success
        hands.link("Compare")
        expect(page.get_by_role("link", name="Before: scripted")).to_have_attribute(
            "href", f"/runs/{good}/"
        )
        rows = page.locator(".compared tbody tr")
        assert [row.get_attribute("data-differs") for row in rows.all()] == [
            None, "status", None, None, "left", "right",
        ]  # fmt: skip


def test_act_on_a_run(open_page: Open, host: Host, browser: Browser) -> None:
    run = ended(host, [{"text": "Here you are."}], threadId=f"tasks-{uuid4()}")
    page = open_page(f"/runs/{run}/")
    hands = Hands(page)
    with hands.within(3):  # share
        hands.button("Share")
        hands.click(page.locator("#share form button"))
        expect(page.locator("#link")).to_have_value(re.compile("/shared/"))
    visitor = browser.new_context()
    visitor.new_page().goto(page.locator("#link").input_value())
    visitor.close()
    page.reload()
    with hands.within(1):  # who looked
        hands.click(page.get_by_text("Who looked"))
        expect(page.locator(".visits li")).to_contain_text("opened a shared link")
    with hands.within(2):  # continue the conversation
        hands.click(page.get_by_role("textbox", name="Continue the conversation"))
        page.keyboard.type("And now?")
        hands.button("Send")
        expect(page).not_to_have_url(re.compile(run))
    expect(page.locator(".title .chip")).to_have_text("succeeded")
    page.keyboard.press("m")
    expect(page.locator(".message.user")).to_have_text(re.compile("And now\\?"))
    with hands.within(3):  # run again with one change
        hands.link("Run with changes")
        page.get_by_label("Message").fill("And then?")
        hands.button("Run")
        expect(page.get_by_role("status").first).to_contain_text("its own thread")
    page.keyboard.press("m")
    expect(page.locator(".message.user")).to_contain_text(["And then?"])
    question = {"reason": "confirm", "message": "Pay?", "response_schema": APPROVAL}
    ended(host, [{"interrupt": question}])
    page.goto("/team/")
    with hands.within(2):  # approve, from anywhere
        hands.link("Inbox")
        with no_undo(page):
            hands.click(page.get_by_role("main").get_by_role("button", name="Approve").first)
        expect(page.get_by_role("status").filter(has_text="Answered")).to_be_visible()


def test_a_run_as_a_file_works_without_a_network(
    browser: Browser, host: Host, tmp_path: Path
) -> None:
    hidden = emit({"type": "CUSTOM", "name": "x", "value": TRICKS})
    run = ended(host, [{"text": TRICKS}, *hidden, *TALK])
    with host.client() as client:
        answer = client.get(f"/api/v1/runs/{run}/export?format=html")
    file = tmp_path / "run.html"
    file.write_bytes(answer.content)
    context = browser.new_context(offline=True)
    page = context.new_page()
    errors: list[Any] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(error))
    page.on("requestfailed", lambda request: errors.append(request.url))
    page.goto(file.as_uri())
    expect(page.locator(LANES)).to_have_count(11)
    page.locator(LANES).filter(has_text="state").first.click()
    expect(page.locator("#as-of")).to_contain_text("As of #")
    page.keyboard.press("s")
    expect(page.locator("#state-tree")).to_contain_text("found:1")
    page.keyboard.press("m")
    expect(page.locator("#conversation")).to_contain_text(TRICKS)
    page.keyboard.press("e")
    page.locator("#filter").fill("CUSTOM")
    page.locator(".row").first.click()
    expect(page.locator("#detail")).to_contain_text("tricked")
    assert page.title().endswith("scripted · needs an answer")
    assert errors == []
    context.close()
