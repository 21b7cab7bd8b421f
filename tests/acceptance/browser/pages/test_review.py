"""The queue of a data set by keys alone, and labels where one reads."""

import re
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.acceptance.browser.test_pages import Open, ended, open_page, session
from tests.acceptance.browser.test_tasks import Hands
from tests.acceptance.browser.test_threads import user
from tests.acceptance.host import Host

__all__ = ["open_page", "session"]

pytestmark = pytest.mark.slow
RUNS = 3


def test_a_queue_is_judged_by_keys(open_page: Open, host: Host) -> None:
    mark = f"review-{uuid4().hex[:8]}"
    runs = [
        ended(host, [{"text": f"Answer {n}"}], threadId=f"{mark}-{n}", messages=user(f"Ask {n}"))
        for n in range(RUNS)
    ]
    with host.client() as client:
        made = client.post("/api/v1/datasets", json={"name": mark, "runs": runs}).json()
    page = open_page(f"/datasets/{made['id']}/?show=review")
    rows = page.locator("#review tbody tr")
    expect(rows).to_have_count(RUNS)
    hands = Hands(page)
    with hands.within(RUNS + 1):  # one key for each run, and one to begin with the second
        hands.press("j")
        hands.press("j")
        expect(rows.nth(1).locator("th a")).to_be_focused()
        hands.press("g")
        expect(rows).to_have_count(RUNS - 1)
        expect(rows.nth(1).locator("th a")).to_be_focused()
        hands.press("b")
        expect(rows).to_have_count(RUNS - 2)
    with host.client() as client:
        labels = [client.get(f"/api/v1/runs/{run}/labels").json()["labels"] for run in runs]
    assert [[each["name"] for each in names] for names in labels] == [["bad"], ["good"], []]
    rows.first.get_by_label("Label").fill("g b j")  # typing is no verdict
    expect(rows).to_have_count(RUNS - 2)
    page.get_by_role("heading", level=1).click()
    hands.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Good, and on to the next")
    page.keyboard.press("Escape")
    hands.press("j")
    hands.press("Enter")
    expect(page).to_have_url(re.compile(f"/runs/{runs[2]}/"))


def test_labels_at_a_run_and_at_a_turn(open_page: Open, host: Host) -> None:
    run = ended(host, [{"text": "Here."}], threadId=f"label-{uuid4()}")
    page = open_page(f"/runs/{run}/")
    hands = Hands(page)
    with hands.within(2):
        hands.click(page.locator(".labels summary"))
        hands.button("Good")
        expect(page.locator(".labels > .chip")).to_have_text("good")
    page.locator(".crumb").get_by_role("link", name="Conversation").click()
    turn = page.locator(f"#turn-{run}")
    expect(turn.locator(".labels > .chip")).to_have_text("good")
    with hands.within(2):
        hands.click(turn.locator(".labels summary"))
        turn.get_by_label("New label").fill("refund")
        hands.click(turn.get_by_role("button", name="Add", exact=True))
        expect(turn.locator(".labels > .chip")).to_have_text(["good", "refund"])
