"""Tasks of people on call and of support that need several runs, another browser, or a phone."""

import re
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4
from zoneinfo import ZoneInfo

from playwright.sync_api import Browser, Download, expect

from tests.acceptance.browser.test_inbox import ask, card
from tests.acceptance.browser.test_pages import PHONE, Open, ended, open_page, session
from tests.acceptance.browser.test_tasks import Hands
from tests.acceptance.browser.test_threads import user
from tests.acceptance.browser.test_timeline import call
from tests.acceptance.host import Host, wait_for
from tests.runs.asking import APPROVAL

__all__ = ["open_page", "session"]

TOKYO = "Asia/Tokyo"
ROWS = "tr[id^=run-]"
TEN = 10
EMPTY = "The till has no money left"
"""A failure of no other test; a name with digits would not tell two kinds apart."""
READ = "from runs.lifecycle.insight import storing; storing.run_once(20)"
"""What a worker does every 15 seconds."""
SENT = 15_000
"""Milliseconds until an answer is sent, which can be taken back for 5 s."""


def test_find_a_run_by_its_time_and_walk_through_the_list(open_page: Open, host: Host) -> None:
    """The customer knows a time only; it is read in the zone of the browser."""
    thread = f"at-{uuid4()}"
    texts = [f"Charged twice {number}" for number in range(3)]
    runs = [ended(host, [{"text": "I see."}], threadId=thread, messages=user(t)) for t in texts]
    at = datetime.fromisoformat(host.run(runs[2])["created_at"]).astimezone(ZoneInfo(TOKYO))
    since, until = (f"{at + timedelta(minutes=each):%Y-%m-%d %H:%M}" for each in (-5, 5))
    page = open_page("/runs/", timezone_id=TOKYO)
    page.reload()  # its first answer could not know the zone
    hands = Hands(page)
    with hands.within(3):
        hands.press("/")
        page.keyboard.type(f'agent:scripted thread:{thread} since:"{since}" until:"{until}"')
        hands.press("Enter")
        expect(page.locator(ROWS)).to_have_count(3)
        expect(page.locator("footer.zone")).to_contain_text(TOKYO)
        row = page.locator(ROWS).first
        expect(row).to_contain_text("Charged twice 2")
        expect(row.locator("time[data-at]")).to_have_text(re.compile(f"{at:%M}"))
    list_address = page.url
    for key in "jjk":  # to the first run, to the second and back
        hands.press(key)
    with hands.within(3):  # its neighbours in the list, and the list with its filters
        hands.press("Enter")
        expect(page).to_have_url(re.compile(runs[2]))
        hands.press("]")
        expect(page).to_have_url(re.compile(runs[1]))
        hands.click(page.locator(".crumb").get_by_role("link", name="Runs"))
    expect(page).to_have_url(list_address)
    expect(page.get_by_role("heading", name="Charged twice")).to_have_count(0)


def test_what_fails_today_by_kind(open_page: Open, host: Host) -> None:
    for _ in range(2):
        ended(host, [{"emit": {"type": "RUN_ERROR", "message": EMPTY}}])
    ended(host, [{"raise": "No card"}])  # of another kind: the host gives it a message

    def is_counted() -> bool:
        rows = client.get("/api/v1/issues").json()["results"]
        return any(EMPTY in row["message"] and row["count"] == 2 for row in rows)

    host.python(READ)
    with host.client() as client:
        wait_for(is_counted, "the issue")
    page = open_page("/")
    hands = Hands(page)
    with hands.within(2):
        hands.click(page.get_by_role("navigation").first.get_by_role("link", name="Issues"))
        expect(page.locator("tbody tr", has_text="RuntimeError").first).to_be_visible()
        kind = page.locator("tbody tr", has_text=EMPTY)
        expect(kind.locator("[data-label=Runs]")).to_have_text("2")
        hands.click(kind.locator("[data-label=Runs] a"))
        expect(page.locator(ROWS)).to_have_count(2)


def test_where_a_live_run_hangs(open_page: Open, host: Host) -> None:
    steps = [*call("quick", "look"), *call("slow", "audit")[:1], {"sleep": 600}]
    run = host.begin(script=steps, messages=user("Audit"))
    host.wait_status(run["id"], "running")
    page = open_page(f"/runs/{run['id']}/")
    hands = Hands(page)
    with hands.within(2):
        hands.press("t")
        hands.click(page.locator(".busiest button", has_text="audit"))
        expect(page.locator(".lane[aria-selected=true]")).to_contain_text("audit")
    with host.client() as client:
        client.post(f"/api/v1/runs/{run['id']}/cancel")


def test_compare_two_that_i_choose_and_send_an_event(
    open_page: Open, host: Host, browser: Browser
) -> None:
    thread = f"pair-{uuid4()}"
    runs = [
        ended(host, [*call("one", "charge"), {"text": f"Try {number}."}], threadId=thread)
        for number in range(2)
    ]
    page = open_page(f"/runs/?thread_id={thread}")
    hands = Hands(page)
    with hands.within(3):
        for run in runs:
            hands.click(page.locator(f"#pick-{run}"))
        hands.button("Compare two")
        expect(page).to_have_url(f"{host.url}/runs/{runs[1]}/compare?with={runs[0]}")
        expect(page.locator(".compared tbody tr").first).to_be_visible()
    page.goto(f"/runs/{runs[1]}/#events")
    page.locator(".row", has_text="TOOL_CALL_END").click()
    seq = page.locator(".row[aria-selected=true]").get_attribute("data-seq")
    with hands.within(3):  # a link that opens at the event
        hands.button("Share")
        hands.click(page.locator("#share form button"))
        expect(page.locator("#link")).to_have_value(re.compile(f"/shared/.*#seq={seq}$"))
    visitor = browser.new_page()
    visitor.goto(page.locator("#link").input_value())
    expect(visitor.locator(".row[aria-selected=true]")).to_have_attribute("data-seq", str(seq))
    expect(visitor.locator("#detail")).to_contain_text("TOOL_CALL_END")
    visitor.close()


def test_hand_over_the_evidence_of_three_runs(
    open_page: Open, host: Host, browser: Browser, tmp_path: Path
) -> None:
    thread = f"three-{uuid4()}"
    runs = [ended(host, [{"text": f"Büro {number}."}], threadId=thread) for number in range(3)]
    page = open_page(f"/runs/?thread_id={thread}")
    hands = Hands(page)
    with hands.within(2):
        hands.click(page.get_by_label("Choose all runs of this page"))
        downloads: list[Download] = []
        page.on("download", lambda each: downloads.append(each))
        with page.expect_event("download", lambda _: len(downloads) == len(runs)):
            hands.button("Download")
    for file in downloads:
        file.save_as(tmp_path / file.suggested_filename)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"run-{run}.html" for run in runs]
    visitor = browser.new_context(offline=True).new_page()
    visitor.goto((tmp_path / f"run-{runs[2]}.html").as_uri())
    expect(visitor.get_by_role("main")).to_contain_text("Büro 2.")
    visitor.context.close()


def test_ten_approvals_in_a_row_on_a_phone(open_page: Open, host: Host) -> None:
    mark = uuid4().hex[:8]
    for number in range(TEN):
        ask(host, message=f"Pay {mark} {number}?", response_schema=APPROVAL)
    page = open_page("/inbox/", viewport=PHONE)
    hands = Hands(page)
    with hands.within(TEN):
        for number in range(TEN):
            one = card(page, f"Pay {mark} {number}?")
            expect(one).to_contain_text("I looked.")  # the context, in the card
            hands.click(one.get_by_role("button", name="Approve"))
            expect(one).to_be_hidden()
    expect(page.get_by_text(re.compile(f"Pay {mark}"))).to_have_count(0, timeout=SENT)
    with hands.within(1):
        hands.link("Answered by me")
        expect(card(page, f"Pay {mark}")).to_have_count(TEN)


def test_two_answer_the_same_and_an_answer_is_refused_in_words(open_page: Open, host: Host) -> None:
    mark = uuid4().hex[:8]
    least = {"type": "integer", "minimum": 3, "title": "How many"}
    schema = {"type": "object", "required": ["many"], "properties": {"many": least}}
    ask(host, message=f"Many {mark}?", response_schema=schema)
    first, second = (open_page("/inbox/", viewport=PHONE, quiet=False) for _ in range(2))
    for page, number in ((first, "1"), (second, "4")):
        one = card(page, f"Many {mark}?")
        one.get_by_label("How many").fill(number)
        one.get_by_role("button", name="Send").click()
        if page is first:
            problem = one.get_by_role("alert")
            expect(problem).to_contain_text("less than the minimum", timeout=SENT)
            expect(one.get_by_label("How many")).to_have_value("1")
    expect(second.get_by_text("Answered.").first).to_be_visible(timeout=SENT)
    again = card(first, f"Many {mark}?")
    again.get_by_label("How many").fill("5")
    again.get_by_role("button", name="Send").click()
    expect(again).to_contain_text(re.compile("demo.* answered.*4", re.DOTALL), timeout=SENT)
