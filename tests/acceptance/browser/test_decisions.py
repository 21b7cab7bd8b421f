"""LangChain's approval in a real browser: approved, rejected with a reason, edited."""

import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.browser.test_inbox import card, no_undo
from tests.acceptance.browser.test_pages import Open, open_page, session
from tests.acceptance.browser.test_team_pages import OUT_OF_REACH
from tests.acceptance.host import Host
from tests.protocol.questions.shapes import BATCH, ONE, langchain

__all__ = ["open_page", "session"]


def ask(host: Host, raw: Any, message: str) -> dict[str, Any]:
    question = {**langchain(raw), "message": message}
    outcome = {"type": "interrupt", "interrupts": [question]}
    end = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome}
    run = host.begin(script=[{"emit": end}])
    host.wait_status(run["id"], "interrupted")
    return run


def payload(host: Host, run: dict[str, Any]) -> Any:
    with host.client() as client:
        rows = client.get("/api/v1/interrupts", params={"run": run["id"]}).json()["results"]
    return rows[0]["payload"]


def answering(page: Page, scripts: bool) -> AbstractContextManager[None]:
    """Around a click that answers: without scripts, a page sends the answer at once."""
    return no_undo(page) if scripts else nullcontext()


def opened(open_page: Open, message: str, scripts: bool, **more: Any) -> Page:
    page = open_page("/inbox/", java_script_enabled=scripts, **more)
    expect(card(page, message)).to_be_visible()
    return page


@pytest.mark.parametrize("scripts", [True, False], ids=["javascript", "plain"])
class TestOneAction:
    def test_approve(self, open_page: Open, host: Host, scripts: bool) -> None:
        run = ask(host, ONE, f"Approve, {scripts}?")
        page = opened(open_page, f"Approve, {scripts}?", scripts)
        form = card(page, f"Approve, {scripts}?")
        with answering(page, scripts):
            form.get_by_role("button", name="Approve", exact=True).click()
        expect(page.get_by_role("status").first).to_contain_text("Answered. scripted continues")
        assert payload(host, run) == {"decisions": [{"type": "approve"}]}

    def test_reject_with_a_reason(self, open_page: Open, host: Host, scripts: bool) -> None:
        run = ask(host, ONE, f"Reject, {scripts}?")
        page = opened(open_page, f"Reject, {scripts}?", scripts)
        form = card(page, f"Reject, {scripts}?")
        form.get_by_label("Reason").fill("too much")
        with answering(page, scripts):
            form.get_by_role("button", name="Reject").click()
        expect(page.get_by_role("status").first).to_contain_text("Answered. scripted continues")
        assert payload(host, run) == {"decisions": [{"type": "reject", "message": "too much"}]}
        page.goto(f"/runs/{run['id']}/")
        expect(card(page, f"Reject, {scripts}?")).to_contain_text("demo answered: Reject")
        expect(card(page, f"Reject, {scripts}?")).to_contain_text("too much")

    def test_edit_the_arguments(self, open_page: Open, host: Host, scripts: bool) -> None:
        run = ask(host, ONE, f"Edit, {scripts}?")
        page = opened(open_page, f"Edit, {scripts}?", scripts)
        form = card(page, f"Edit, {scripts}?")
        form.get_by_text("Edit the arguments").click()
        amount = form.get_by_label("amount")
        expect(amount).to_have_value("5")
        amount.fill("4")
        with answering(page, scripts):
            form.get_by_role("button", name="Approve with changes").click()
        expect(page.get_by_role("status").first).to_contain_text("Answered. scripted continues")
        (decision,) = payload(host, run)["decisions"]
        assert decision["edited_action"] == {"name": "pay", "args": {"amount": 4, "to": "Ann"}}


def test_several_actions_one_by_one(open_page: Open, host: Host) -> None:
    run = ask(host, BATCH, "Pay and mail?")
    page = opened(open_page, "Pay and mail?", scripts=False, quiet=False)
    form = card(page, "Pay and mail?")
    form.get_by_role("button", name="Send decisions").click()
    expect(card(page, "Pay and mail?")).to_contain_text("Decide about this action.")
    form.get_by_role("group", name="pay").get_by_label("Approve", exact=True).check()
    mail = form.get_by_role("group", name="mail")
    mail.get_by_label("Reject", exact=True).check()
    mail.get_by_label("Reason").fill("not now")
    form.get_by_role("button", name="Send decisions").click()
    expect(page.get_by_role("status").first).to_contain_text("Answered. scripted continues")
    assert payload(host, run) == {
        "decisions": [{"type": "approve"}, {"type": "reject", "message": "not now"}]
    }


@pytest.mark.parametrize("width", [390, 1280])
def test_the_form_fits(open_page: Open, host: Host, width: int) -> None:
    wide = {"name": "w" * 80, "args": {"w" * 60: "v" * 300, "flag": True, "deep": {"a": [1]}}}
    config = {"action_name": "w" * 80, "allowed_decisions": ["approve", "edit", "reject"]}
    ask(host, {"action_requests": [wide], "review_configs": [config]}, f"Wide {width}?")
    page = opened(
        open_page, f"Wide {width}?", scripts=True, viewport={"width": width, "height": 900}
    )
    card(page, f"Wide {width}?").get_by_text("Edit the arguments").click()
    assert page.evaluate(OUT_OF_REACH, width) == []
    expect(card(page, f"Wide {width}?")).to_contain_text(re.compile("Approve with changes"))
