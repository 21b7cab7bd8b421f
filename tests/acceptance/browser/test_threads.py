"""A thread in a real browser: one conversation, live, continued in place; and no word is lost."""

import re
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.browser.test_inbox import ask, card
from tests.acceptance.browser.test_pages import (
    PHONE,
    Open,
    ended,
    open_page,
    session,
    sign_in,
)
from tests.acceptance.host import Host

__all__ = ["open_page", "session"]

pytestmark = pytest.mark.slow

FREE = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
DRAFT = "Words that are not sent yet"


def user(text: str) -> list[dict[str, Any]]:
    return [{"id": str(uuid4()), "role": "user", "content": text}]


def talk(host: Host, thread: str, *texts: str) -> str:
    """A thread in which each of these was questions and answered; the address of its page."""
    for text in texts:
        script = [{"text": f"**Answer** to {text}"}]
        ended(host, script, threadId=thread, messages=user(text))
    with host.client() as client:
        rows = client.get("/api/v1/threads", params={"thread_id": thread}).json()["results"]
    return f"/threads/{rows[0]['id']}/"


def turns(page: Page) -> Any:
    return page.locator("article.turn")


def test_runs_of_a_thread_are_one_conversation_that_goes_on(open_page: Open, host: Host) -> None:
    thread = f"talk-{uuid4()}"
    address = talk(host, thread, "one", "two")
    page = open_page(address)
    expect(turns(page)).to_have_count(2)
    expect(turns(page).first.locator(".message.user")).to_contain_text("one")
    expect(turns(page).first.locator(".message.assistant strong")).to_have_text("Answer")
    # Another program goes on; the page shows it while it comes.
    script = [{"text": "It begins. "}, {"sleep": 4}, {"text": "It ends."}]
    run = host.begin(script=script, threadId=thread, messages=user("three"))
    expect(turns(page)).to_have_count(3)
    newest = turns(page).last
    expect(newest.locator(".conversation")).to_contain_text("It begins.")
    expect(newest.locator(".turn-head .chip")).to_have_text(re.compile("queued|running"))
    host.wait_status(run["id"], "succeeded")
    expect(newest.locator(".conversation")).to_contain_text("It ends.")
    expect(newest.locator(".turn-head .chip")).to_have_text("succeeded")
    expect(page.locator("#sums")).to_contain_text("3 runs")


@pytest.mark.parametrize("scripts", [True, False], ids=["javascript", "plain"])
def test_continue_regenerate_and_comment_in_place(
    open_page: Open, host: Host, scripts: bool
) -> None:
    page = open_page(talk(host, f"more-{uuid4()}", "one"), java_script_enabled=scripts)
    place = page.url.partition("#")[0]
    page.get_by_label("Continue the conversation").fill("Go on, please.")
    send = page.get_by_role("button", name="Send")
    if scripts:
        send.click()
    else:
        with page.expect_navigation():
            send.click()
        page.reload()
    expect(turns(page)).to_have_count(2)
    expect(turns(page).last).to_contain_text("Go on, please.")
    if scripts:
        expect(page.get_by_label("Continue the conversation")).to_have_value("")
    assert page.url.partition("#")[0] == place
    turns(page).first.get_by_text("Comment", exact=True).click()
    turns(page).first.get_by_label("Comment on").fill("Is that so?")
    turns(page).first.get_by_role("button", name="Add the comment").click()
    expect(turns(page).first.locator(".comment")).to_contain_text("Is that so?")
    assert page.url.partition("#")[0] == place


def test_an_answer_is_rated_in_place_next_to_a_draft(open_page: Open, host: Host) -> None:
    page = open_page(talk(host, f"rated-{uuid4()}", "one"))
    turn = turns(page).last
    field = turn.get_by_label("Comment on")
    turn.get_by_text("Comment", exact=True).click()
    field.fill(DRAFT)
    good = turn.locator(".message.assistant").get_by_role("button", name="Good answer")
    good.click()
    expect(good).to_have_attribute("aria-pressed", "true")
    expect(good).to_have_text("1")
    expect(field).to_have_value(DRAFT)
    good.click()
    expect(good).to_have_attribute("aria-pressed", "false")
    expect(field).to_have_value(DRAFT)


def test_a_draft_survives_the_answer_to_another_question_of_the_run(
    open_page: Open, host: Host
) -> None:
    questions = [
        {"reason": "input_required", "message": f"Question {number}?", "response_schema": FREE}
        for number in (1, 2)
    ]
    run = host.begin(script=[{"interrupt": {**each, "wait": True}} for each in questions])
    host.wait_status(run["id"], "interrupted")
    page = open_page(f"/runs/{run['id']}/")
    card(page, "Question 1?").get_by_label("name").fill(DRAFT)
    with host.client() as client:
        rows = client.get("/api/v1/interrupts", params={"run": run["id"]}).json()["results"]
        other = next(row for row in rows if "Question 2" in row["message"])
        answer = {"status": "resolved", "payload": {"name": "Mike"}}
        assert client.post(f"/api/v1/interrupts/{other['id']}/answer", json=answer).is_success
    page.locator("body").click(position={"x": 5, "y": 5})
    with page.expect_response(re.compile("/questions")):
        page.evaluate("document.body.dispatchEvent(new Event('questions'))")
    expect(card(page, "Question 1?").get_by_label("name")).to_have_value(DRAFT)
    card(page, "Question 1?").get_by_role("button", name="Send").click()
    expect(page.get_by_text(DRAFT)).to_be_visible()


def test_a_draft_survives_the_answer_to_another_card_of_the_inbox(
    open_page: Open, host: Host
) -> None:
    mark = uuid4().hex[:8]
    for number in (1, 2):
        ask(host, message=f"Card {number} of {mark}?", response_schema=FREE)
    page = open_page("/inbox/")
    first, second = card(page, f"Card 1 of {mark}"), card(page, f"Card 2 of {mark}")
    first.get_by_label("name").fill(DRAFT)
    second.get_by_label("name").fill("Sue")
    second.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Answered.")).to_be_visible()
    expect(first.get_by_label("name")).to_have_value(DRAFT)
    first.get_by_role("button", name="Send").click()
    expect(first).to_have_count(0)


def test_a_draft_survives_the_end_of_the_session(open_page: Open, host: Host) -> None:
    page = open_page(talk(host, f"late-{uuid4()}", "one"), quiet=False)
    field = page.get_by_label("Continue the conversation")
    field.fill(DRAFT)
    cookies = page.context.cookies()
    page.context.clear_cookies(name="sessionid")
    page.evaluate("document.body.dispatchEvent(new Event('news'))")
    dialog = page.get_by_role("dialog", name="Your session has ended")
    expect(dialog.get_by_role("link", name="Sign in again")).to_have_attribute(
        "href", re.compile("/login/.*next=")
    )
    page.context.add_cookies(cookies)
    dialog.get_by_role("button", name="I have signed in").click()
    expect(dialog).to_have_count(0)
    expect(field).to_have_value(DRAFT)
    page.get_by_role("button", name="Send").click()
    expect(turns(page)).to_have_count(2)
    expect(turns(page).last).to_contain_text(DRAFT)


def test_a_form_that_leads_away_keeps_its_text_after_the_session(open_page: Open) -> None:
    """Pages whose forms reload them ask for the sign-in over the page, not in its place."""
    page = open_page("/datasets/")
    cookies = page.context.cookies()
    field = page.get_by_label("Name")
    field.fill(name := f"{DRAFT} {uuid4()}")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Create data set").click()
    dialog = page.get_by_role("dialog", name="Your session has ended")
    expect(dialog).to_be_visible()
    page.context.add_cookies(cookies)
    dialog.get_by_role("button", name="I have signed in").click()
    expect(field).to_have_value(name)
    page.get_by_role("button", name="Create data set").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()


def test_without_scripts_a_text_waits_for_the_next_session(open_page: Open, host: Host) -> None:
    thread = talk(host, f"plain-{uuid4()}", "one")
    page = open_page(thread, java_script_enabled=False)
    page.get_by_label("Continue the conversation").fill(text := f"{DRAFT}\n\nand <b>more</b>")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Send").click()
    expect(page).to_have_url(f"{host.url}/login/?next=/unsent/")
    sign_in(page, host)
    expect(page).to_have_url(f"{host.url}/unsent/")
    expect(page.get_by_label("Message")).to_have_value(text)
    page.get_by_role("button", name="Send").click()
    expect(page).to_have_url(re.compile(thread))
    page.reload()
    expect(turns(page)).to_have_count(2)
    expect(turns(page).last).to_contain_text(DRAFT)


@pytest.mark.parametrize("place", ["/runs/", "/inbox/", "thread", "run"])
def test_a_page_without_news_says_so_within_twenty_seconds(
    open_page: Open, host: Host, place: str
) -> None:
    if place == "thread":
        place = talk(host, f"still-{uuid4()}", "one")
    elif place == "run":
        place = f"/runs/{host.begin(script=[{'sleep': 60}])['id']}/"
    page = open_page("/team/", quiet=False)
    page.clock.install()
    page.goto(place)
    expect(page.locator("#news")).to_contain_text("Live")
    page.context.set_offline(True)
    page.clock.run_for(22_000)
    expect(page.locator("#news")).to_contain_text("No news for")
    page.context.set_offline(False)
    page.clock.run_for(12_000)
    expect(page.locator("#news")).to_contain_text("Live")


def test_earlier_turns_and_a_phone(open_page: Open, host: Host) -> None:
    texts = [f"turn {number}" for number in range(12)]
    page = open_page(talk(host, f"long-{uuid4()}", *texts), viewport=PHONE)
    expect(turns(page)).to_have_count(10)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.get_by_role("link", name="Show earlier turns").click()
    expect(turns(page)).to_have_count(12)
    expect(turns(page).first.locator(".message.user")).to_contain_text("turn 0")
