"""Two browsers: Alice shares a running run by link, Bob watches it live, Alice takes it back."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.browser.test_pages import PHONE, all_can_be_read
from tests.acceptance.host import Host

pytestmark = pytest.mark.slow

SECRET = "hunter2-of-alice"


@pytest.fixture
def complaints() -> Iterator[list[str]]:
    """What the pages complained about: nothing."""
    errors: list[str] = []
    yield errors
    assert errors == []


def signed_in(browser: Browser, host: Host, complaints: list[str], **options: Any) -> Page:
    context = browser.new_context(base_url=host.url, **options)
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto("/login/")
    page.get_by_label("Username").fill(host.login)
    page.get_by_label("Password").fill(host.password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("/")
    return page


def endless(host: Host) -> str:
    """A running run that says a word now and then; its first call has a secret argument."""
    text, call = {"messageId": "m"}, {"toolCallId": "c"}
    script: list[dict[str, Any]] = [
        {"type": "TOOL_CALL_START", **call, "toolCallName": "send"},
        {"type": "TOOL_CALL_ARGS", **call, "delta": '{"to": "bob", "password": "hunter2-'},
        {"type": "TOOL_CALL_ARGS", **call, "delta": 'of-alice"}'},
        {"type": "TOOL_CALL_END", **call},
        {"type": "TEXT_MESSAGE_START", **text, "role": "assistant"},
    ]
    for word in range(600):
        script.append({"sleep": 0.2})
        script.append({"type": "TEXT_MESSAGE_CONTENT", **text, "delta": f"word-{word} "})
    script = [step if "sleep" in step else {"emit": step} for step in script]
    run = host.begin(script=script, threadId=f"shared-{uuid4()}")
    host.wait_status(run["id"], "running")
    return str(run["id"])


def shared(page: Page) -> str:
    """Share the run of the open page by link, with the keyboard only; the link."""
    page.get_by_role("button", name="Share", exact=True).first.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Share")
    expect(dialog).to_be_visible()
    dialog.get_by_label("Leave out fields").fill("password")
    dialog.get_by_label("Leave out fields").press("Enter")
    link = dialog.get_by_label("The link, shown only once")
    expect(link).to_be_visible()
    expect(dialog.get_by_role("listitem")).to_have_count(1)
    return link.input_value()


def test_bob_watches_by_link_until_alice_takes_it_back(
    browser: Browser, host: Host, complaints: list[str]
) -> None:
    run = endless(host)
    alice = signed_in(browser, host, complaints)
    alice.goto(f"/runs/{run}/")
    link = shared(alice)
    context = browser.new_context()
    bob = context.new_page()
    bob.on("pageerror", lambda error: complaints.append(str(error)))
    bob.goto(link)
    expect(bob.locator("#connection")).to_have_text("Live")
    expect(bob.locator("#conversation").get_by_text("word-1 ")).to_be_visible()
    conversation = bob.locator("#conversation").inner_text()
    expect(bob.locator("#conversation")).not_to_have_text(conversation)
    bob.get_by_role("tab", name="Timeline").click()
    expect(bob.locator("#timeline .lane").filter(has_text="send").first).to_be_visible()
    bob.get_by_role("tab", name="Events").click()
    bob.get_by_role("tab", name="Conversation").click()
    assert SECRET not in bob.content()
    assert "hunter2" not in bob.content()

    alice.get_by_role("button", name="Revoke").click()
    alice.get_by_role("button", name="Really revoke").click()
    expect(bob.get_by_role("alert")).to_contain_text("no longer works")
    expect(alice.get_by_text("Nobody yet.")).to_be_visible()
    bob.goto(link)
    expect(bob.get_by_role("heading", name="invalid or has expired")).to_be_visible()
    alice.keyboard.press("Escape")
    expect(alice.get_by_role("dialog")).to_have_count(0)
    alice.get_by_role("button", name="Cancel run").click()
    host.wait_status(run, "cancelled")
    for page in (alice, bob):
        page.context.close()


def test_the_dialog_asks_whom_first(browser: Browser, host: Host, complaints: list[str]) -> None:
    run = host.begin(script=[{"emit": {"type": "CUSTOM", "name": "x", "value": 1}}])
    host.wait_status(run["id"], "succeeded")
    page = signed_in(browser, host, complaints)
    page.goto(f"/runs/{run['id']}/")
    page.get_by_role("button", name="Share", exact=True).first.click()
    dialog = page.get_by_role("dialog", name="Share this run")
    expect(dialog.get_by_label("They can").locator("option[value=control]")).to_be_disabled()
    expect(dialog.get_by_label("Until").locator("option:checked")).to_contain_text("(a week)")
    dialog.get_by_label("With").select_option("Another team")
    expect(dialog.get_by_label("Leave out fields")).to_be_hidden()
    dialog.get_by_label("Team's id").fill(str(uuid4()))
    dialog.get_by_label("They can").select_option("answer")
    dialog.get_by_role("button", name="Share", exact=True).click()
    expect(dialog.get_by_role("alert")).to_have_text("There is no such team.")
    page.context.close()


def test_the_dialog_on_a_phone(browser: Browser, host: Host, complaints: list[str]) -> None:
    run = host.begin(script=[{"emit": {"type": "CUSTOM", "name": "x", "value": 1}}])
    host.wait_status(run["id"], "succeeded")
    page = signed_in(browser, host, complaints, viewport=PHONE)
    page.goto(f"/runs/{run['id']}/")
    link = shared(page)
    wide = "() => [document.documentElement.scrollWidth, innerWidth]"
    for address in (None, link):
        if address:
            page.goto(address)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
        content, window = page.evaluate(wide)
        assert content <= window
        all_can_be_read(page, address or "the dialog")
    page.context.close()
