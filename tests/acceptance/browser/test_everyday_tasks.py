"""Everyday tasks, each within a number of clicks: on call, and support on a phone.

Those of a team's lead are in ``pages/test_lead_tasks.py``.
"""

import re
from typing import Any
from uuid import uuid4

from playwright.sync_api import expect

from tests.acceptance.browser.test_inbox import ask, card, no_undo
from tests.acceptance.browser.test_pages import PHONE, Open, ended, open_page, session
from tests.acceptance.browser.test_tasks import Hands
from tests.acceptance.browser.test_threads import user
from tests.acceptance.browser.test_timeline import call
from tests.acceptance.host import Host, wait_for
from tests.runs.asking import APPROVAL

__all__ = ["open_page", "session"]

STRICT = {
    "type": "object",
    "required": ["day"],
    "properties": {"day": {"type": "string", "format": "date", "title": "Which day"}},
}
NOTE = {
    "type": "object",
    "required": ["approved"],
    "properties": {"approved": {"type": "boolean"}, "note": {"type": "string", "title": "Note"}},
}
MARKED = """(part) => [...CSS.highlights.get("found") ?? []].some(
  (range) => document.querySelector(part).contains(range.startContainer) &&
    range.startContainer.data.slice(range.startOffset, range.endOffset) === "twice")"""
"""Whether a word that was searched for is marked in the text of a turn."""


def test_on_call(open_page: Open, host: Host) -> None:
    mark = f"m{uuid4().hex[:10]}"
    charges = [*call("one", "charge"), *call("two", "charge"), {"text": f"Charged {mark}."}]
    twice = ended(host, charges, threadId=mark, messages=user(f"Ann {mark}: charged twice"))
    for number in range(11):
        ended(host, [{"text": f"Later {number}."}], threadId=mark, messages=user(f"Still {number}"))
    stuck = host.begin(
        script=[*call("slow", "audit")[:1], {"sleep": 600}], messages=user(f"Audit {mark}")
    )
    host.wait_status(stuck["id"], "running")
    with host.client() as client:  # A worker stores the words of a run soon after its end.
        query = {"q": "twice", "thread_id": mark}
        wait_for(lambda: client.get("/api/v1/runs", params=query).json()["results"], "words")
    page = open_page("/runs/")
    hands = Hands(page)
    with hands.within(3):  # who says "charged twice"
        hands.press("/")
        page.keyboard.type(f"thread:{mark} twice")
        hands.press("Enter")
        expect(page.locator("tr[id^=run-]")).to_have_count(1)
        hands.click(page.locator(f"#to-{twice}"))
        expect(page).to_have_url(re.compile(f"/runs/{twice}/"))
    with hands.within(1):  # both charges
        hands.press("m")
        expect(page.locator("#conversation .tool").filter(has_text="charge")).to_have_count(2)
    with hands.within(3):  # the same conversation, from its first words, of twelve turns
        hands.click(page.locator(".crumb").get_by_role("link", name="Conversation"))
        page.get_by_role("searchbox", name="Find in this thread").fill("twice")
        hands.button("Find")
        hands.click(page.locator(".found ol a"))
        expect(page.locator(f"#turn-{twice}")).to_be_in_viewport()
    page.wait_for_function(MARKED, arg=f"#turn-{twice} .conversation")
    page.goto("/runs/?status=running")
    with hands.within(2):  # stop a runaway run from the list
        hands.click(page.locator(f"#pick-{stuck['id']}"))
        hands.button("Cancel runs")
        host.wait_status(stuck["id"], "cancelled")


def test_support_on_a_phone(open_page: Open, host: Host) -> None:
    mark = f"m{uuid4().hex[:10]}"
    asked: dict[str, dict[str, Any]] = {
        "deny": {"response_schema": NOTE},
        "date": {"response_schema": STRICT},
        "text": {"reason": "input_required"},
        "approve": {"response_schema": APPROVAL},
    }
    runs = {kind: ask(host, message=f"{kind} {mark}?", **more) for kind, more in asked.items()}
    page = open_page("/inbox/", viewport=PHONE)
    hands = Hands(page)
    with no_undo(page):
        with hands.within(1):  # approve, seeing what
            one = card(page, f"approve {mark}?")
            hands.click(one.get_by_role("button", name="Approve"))
        with hands.within(1):  # deny, with a note
            one = card(page, f"deny {mark}?")
            one.get_by_label("Note").fill("Not this month.")
            hands.click(one.get_by_role("button", name="Deny"))
        with hands.within(1):  # a text
            one = card(page, f"text {mark}?")
            one.locator("textarea, input:not([type=hidden])").first.fill("Room 7")
            hands.click(one.locator("form.answer .acts button").first)
        with hands.within(1):  # a date
            one = card(page, f"date {mark}?")
            one.get_by_label("Which day").fill("2030-01-31")
            hands.click(one.get_by_role("button", name="Send"))
    for kind in runs:  # Also hidden ones: until an answer is sent, its card waits in the page.
        expect(page.get_by_text(f"{kind} {mark}?", exact=True)).to_have_count(0)
    with hands.within(1):  # what I answered
        hands.link("Answered by me")
        expect(card(page, f"deny {mark}?")).to_contain_text("Not this month.")
        expect(card(page, f"date {mark}?")).to_contain_text("2030-01-31")
    with hands.within(1):  # the context of a question
        hands.click(card(page, f"text {mark}?").locator("a.agent"))
        expect(page).to_have_url(re.compile(f"/runs/{runs['text']['id']}/"))
        expect(page.get_by_role("main")).to_contain_text("I looked.")
