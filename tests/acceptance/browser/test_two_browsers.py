"""Two browsers: Alice invites Bob, shares a running run by link, and takes it back."""

import re
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from tests.acceptance.browser.test_pages import PHONE, all_can_be_read
from tests.acceptance.browser.test_sharing import (
    complaints,
    endless,
    shared,
    signed_in,
)
from tests.acceptance.host import Host, wait_for

__all__ = ["complaints"]
pytestmark = pytest.mark.slow

LINK = re.compile(r"^(http://\S+/invitations/\S+)$", re.MULTILINE)
CODE = re.compile(r"^([A-Z0-9]{3,}-?[A-Z0-9]+)$", re.MULTILINE)
PASSWORD = "bobs-horse-battery-staple"
ACCOUNT = ("email", "password", "mfa", "sso")


def mailed(host: Host, address: str, what: re.Pattern[str]) -> str:
    """What the newest mail to an address says; mails go to the web process's log by default."""

    def links() -> list[str]:
        mails = host.log_of(host.web).split("Content-Type: text/plain")
        mine = [mail for mail in mails if f"To: {address}" in mail]
        return what.findall(mine[-1]) if mine else []

    wait_for(links, f"a mail to {address}")
    return links()[-1]


def listen(page: Page, complaints: list[str]) -> None:
    """Note what the content policy blocks; what is refused to a revoked link is expected."""

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    page.on("console", hear)


def newcomer(browser: Browser, complaints: list[str]) -> Page:
    """Somebody's own browser, which must not complain of anything, a content policy least."""
    context = browser.new_context()
    page = context.new_page()
    listen(page, complaints)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return page


def join(alice: Page, bob: Page, host: Host, name: str) -> None:
    """Alice invites Bob by e-mail; Bob signs up, verifies his address, and joins."""
    address = f"{name}@example.com"
    alice.goto(f"{host.url}/team/")
    alice.get_by_label("E-mail address").fill(address)
    alice.get_by_role("combobox", name="Role", exact=True).select_option("member")
    alice.get_by_role("button", name="Invite").click()
    expect(alice.get_by_role("status")).to_contain_text(address)

    bob.goto(mailed(host, address, LINK))
    bob.get_by_role("link", name="Sign up").click()
    expect(bob.get_by_label("Email")).to_have_value(address)
    bob.get_by_label("Username").fill(name)
    bob.get_by_label("Password").fill(PASSWORD)
    bob.get_by_label("Password").press("Enter")
    bob.wait_for_url(re.compile(f"^{host.url}/account/verify/"))
    bob.get_by_label("Code").fill(mailed(host, address, CODE))
    bob.get_by_label("Code").press("Enter")
    bob.get_by_role("button", name="Join").click()
    bob.wait_for_url(f"{host.url}/runs/")


def test_alice_invites_bob_and_shares_a_run_until_she_revokes(
    browser: Browser, host: Host, complaints: list[str]
) -> None:
    name = f"bob-{uuid4().hex[:8]}"
    alice, bob = signed_in(browser, host, complaints), newcomer(browser, complaints)
    run = endless(host)
    join(alice, bob, host, name)

    expect(bob.locator(f"#run-{run} .chip")).to_have_text("running")
    bob.locator(f"#run-{run} .name a").click()
    expect(bob.locator("#connection")).to_have_text("Live")

    alice.goto(f"{host.url}/runs/{run}/")
    bob.goto(shared(alice))
    expect(bob.locator("#connection")).to_have_text("Live")
    expect(bob.locator("#conversation").get_by_text("word-1 ")).to_be_visible()
    conversation = bob.locator("#conversation").inner_text()
    expect(bob.locator("#conversation")).not_to_have_text(conversation)

    alice.get_by_role("button", name="Revoke").click()
    alice.get_by_role("button", name="Really revoke").click()
    expect(bob.get_by_role("alert")).to_contain_text("no longer works")
    alice.keyboard.press("Escape")
    alice.get_by_role("button", name="Cancel run").click()
    host.wait_status(run, "cancelled")

    alice.goto(f"{host.url}/team/")
    alice.get_by_role("link", name=f"Remove {name}").click()
    alice.get_by_role("button", name="Remove", exact=True).click()
    expect(alice.get_by_role("status")).to_contain_text("no longer in the team")
    bob.goto(f"{host.url}/runs/")
    expect(bob.get_by_role("heading", level=1)).to_contain_text("not a member of any team")
    for page in (alice, bob):
        page.context.close()


def test_account_pages_on_a_phone(browser: Browser, host: Host, complaints: list[str]) -> None:
    page = signed_in(browser, host, complaints, viewport=PHONE)
    listen(page, complaints)
    addresses = [
        "/team/",
        *(f"/account/{each}/" for each in ACCOUNT),
        "/account/mfa/totp/activate/",
    ]
    for number, address in enumerate([*addresses, "/login/", "/account/password/reset/"]):
        if number == len(addresses):
            page.context.clear_cookies()
        page.goto(address)
        if "reauthenticate" in page.url:
            page.get_by_label("Password").fill(host.password)
            page.get_by_label("Password").press("Enter")
            page.wait_for_url(address)
        expect(page.get_by_role("heading").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], address
        all_can_be_read(page, address)
    page.context.close()


def test_pages_of_others_work_under_the_content_policy(
    browser: Browser, host: Host, complaints: list[str]
) -> None:
    page = signed_in(browser, host, complaints)
    listen(page, complaints)
    page.goto("/api/docs/")
    # Of that many operations the page draws the first ones, and others when one scrolls.
    expect(page.get_by_text("/agui/info", exact=True).first).to_be_visible()
    page.get_by_role("button", name="Authorize").click()
    expect(page.get_by_role("dialog").or_(page.locator(".modal-ux"))).to_be_visible()
    for address in ("", "teams/team/", "teams/team/add/", "auth/user/add/", "teams/membership/"):
        page.goto(f"/admin/{address}")
        expect(page.locator("#content h1")).to_be_visible()
    page.goto("/admin/teams/membership/add/")
    page.locator(".select2-selection").first.click()
    expect(page.locator(".select2-results__option").first).to_be_visible()
    page.context.close()
