"""Questions in a real browser: found from the first page, answered with and without JavaScript."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.acceptance.browser.test_pages import PHONE, Open, all_can_be_read, open_page, session
from tests.acceptance.browser.test_team_pages import OUT_OF_REACH, WIDTHS
from tests.acceptance.host import Host
from tests.runs.asking import APPROVAL

__all__ = ["open_page", "session"]

WIDE = "w" * 200
UNDO = 5_000
"""Milliseconds for which a page keeps an answer, which can be taken back until then."""
NASTY: list[dict[str, Any]] = [
    {"reason": WIDE, "message": f"{WIDE} \u05e9\u05dc\u05d5\u05dd", "response_schema": APPROVAL,
     "metadata": {WIDE: [WIDE]}},
    {"reason": "input_required", "message": "Fill this in", "response_schema": {
        "type": "object",
        "required": ["name", "size"],
        "properties": {
            "name": {"type": "string", "title": WIDE, "description": WIDE},
            "size": {"enum": ["small", WIDE]},
            "day": {"type": "string", "format": "date"},
            "many": {"type": "array", "items": {"enum": [WIDE, "one", "two"]}},
            "deep": {"type": "object"},
        },
    }},
]  # fmt: skip


def ask(host: Host, **question: Any) -> dict[str, Any]:
    """A run that has ended with this question."""
    run = host.begin(
        script=[{"text": "I looked."}, {"interrupt": {"reason": "confirm", **question}}]
    )
    host.wait_status(run["id"], "interrupted")
    return run


def answering(host: Host, run: dict[str, Any]) -> str:
    with host.client() as client:
        rows = client.get("/api/v1/interrupts", params={"run": run["id"]}).json()["results"]
    return str(rows[0]["answering_run"])


def card(page: Page, message: str) -> Locator:
    return page.get_by_role("main").get_by_role("article").filter(has_text=message)


@contextmanager
def no_undo(page: Page) -> Iterator[None]:
    """The page sends the block's answers at the block's end: its clock is put forward.

    ``test_approve_in_two_clicks`` waits for the clock of the machine.
    """
    page.clock.install()
    yield
    page.clock.fast_forward(UNDO)


@pytest.mark.parametrize("scripts", [True, False], ids=["javascript", "plain"])
def test_approve_in_two_clicks(open_page: Open, host: Host, scripts: bool) -> None:
    message = f"Pay the bill, scripts {scripts}?"
    run = ask(host, message=message, response_schema=APPROVAL)
    page = open_page("/", java_script_enabled=scripts)
    page.get_by_role("link", name=re.compile("^Inbox .*open question")).click()
    card(page, message).get_by_role("button", name="Approve").click()
    banner = page.get_by_role("status").filter(has_text="Answered. scripted continues")
    expect(banner).to_be_visible(timeout=10_000)
    expect(card(page, message)).to_have_count(0)
    page.goto(f"/runs/{run['id']}/")
    outcome = card(page, message)
    expect(outcome).to_contain_text("demo answered: Approve")
    expect(page.get_by_role("main")).not_to_contain_text(re.compile("wait", re.IGNORECASE))
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    outcome.get_by_role("link", name="The run that continues").click()
    assert page.url == f"{host.url}/runs/{answering(host, run)}/"


def test_an_answer_can_be_taken_back_and_leaving_the_page_sends_it(
    open_page: Open, host: Host
) -> None:
    message = "Pay twice, or not at all?"
    run = ask(host, message=message, response_schema=APPROVAL)
    page = open_page("/inbox/")
    question = card(page, message)
    question.get_by_role("button", name="Approve").click()
    expect(question).to_be_hidden()
    page.get_by_role("button", name="Undo").click()
    expect(question.get_by_role("button", name="Approve")).to_be_focused()
    question.get_by_role("button", name="Deny").click()
    expect(page.get_by_role("status").filter(has_text="Deny is sent in 5 s")).to_be_visible()
    page.goto(f"/runs/{run['id']}/")
    expect(card(page, message)).to_contain_text("demo answered: Deny")


def test_a_live_page_asks_and_learns_that_a_colleague_was_quicker(
    open_page: Open, host: Host
) -> None:
    run = host.begin(script=[{"text": "hm"}, {"sleep": 1}, {"interrupt": {
        "reason": "confirm", "message": "Go on?", "response_schema": APPROVAL}}])  # fmt: skip
    page = open_page(f"/runs/{run['id']}/")
    approve = page.get_by_role("main").get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    other = open_page(f"/runs/{run['id']}/")
    other.get_by_role("button", name="Deny").click()
    expect(card(other, "Go on?")).to_contain_text("demo answered: Deny")
    expect(card(page, "Go on?")).to_contain_text("demo answered: Deny")
    expect(approve).to_have_count(0)


def test_enter_in_a_field_approves_nothing_and_errors_stand_at_the_field(
    open_page: Open, host: Host
) -> None:
    schema = {
        "type": "object",
        "required": ["approved"],
        "properties": {
            "approved": {"type": "boolean"},
            "amount": {"type": "integer", "minimum": 1},
        },
    }
    run = ask(host, message="How much?", response_schema=schema)
    page = open_page(f"/runs/{run['id']}/", quiet=False)
    amount = page.get_by_label("Amount")
    amount.fill("0")
    amount.press("Enter")
    page.get_by_role("button", name="Approve").click()
    expect(card(page, "How much?").get_by_role("alert")).to_contain_text("less than the minimum")
    expect(amount).to_have_value("0")
    amount.fill("12")
    page.get_by_role("button", name="Approve").click()
    expect(card(page, "How much?")).to_contain_text("answered: Approve")
    expect(card(page, "How much?")).to_contain_text("12")


def test_nasty_questions_fit_and_can_be_read(open_page: Open, host: Host) -> None:
    runs = [ask(host, **each) for each in NASTY]
    page = open_page("/inbox/")
    for address in ("/inbox/", *(f"/runs/{run['id']}/" for run in runs)):
        page.goto(address)
        for details in page.locator(".question details").all():
            details.locator("summary").click()
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address
            outside = page.evaluate(OUT_OF_REACH.replace("main :is", ".question :is"), width)
            assert outside == [], address
            all_can_be_read(page, f"{address}, {width}")


MAIL = """
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Role
from runs.access.notices import mail
from runs.models import Interrupt
question = Interrupt.objects.of_any_team().get(run={run!r})
team = question.run.team
user = User.objects.get(username={login!r})
address = {{"email": "demo@example.com", "verified": True, "primary": True}}
EmailAddress.objects.get_or_create(user=user, defaults=address)
mail.choose(Principal("user", user.username, team, Role.OWNER, user.pk), mail.EACH)
[text] = mail.written(team, [question])
print(text.body)
"""


def test_a_mailed_link_is_answered_on_a_phone_without_a_sign_in(
    browser: Browser, host: Host
) -> None:
    run = ask(host, message="Pay the bill of 4 dollars?", response_schema=APPROVAL)
    body = host.python(MAIL.format(run=run["id"], login=host.login))
    (path,) = re.findall(r"/inbox/mail/[\w-]+/", body)
    page = browser.new_page(base_url=host.url, viewport=PHONE)
    page.goto(path)
    question = card(page, "Pay the bill of 4 dollars?")
    expect(question).to_contain_text("I looked.")  # what it is about, without a click
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    approve = question.get_by_role("button", name="Approve")
    expect(approve).to_be_in_viewport()
    approve.click()
    expect(page.get_by_role("heading", name="Your answer was sent")).to_be_visible()
    assert host.wait_status(answering(host, run), "succeeded")
    page.goto(path)
    expect(page.get_by_role("main")).to_contain_text("was used")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    page.close()
