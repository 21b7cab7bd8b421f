"""A passkey is added, and signs its owner in without name and password: Chromium has the key."""

import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.browser.test_two_browsers import PASSWORD
from tests.acceptance.host import Host

pytestmark = pytest.mark.slow

PERSON = f"""
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from agui_host.teams.models import Membership, Role, Team

person = User.objects.create_user("petra", "petra@example.com", {PASSWORD!r})
EmailAddress.objects.create(user=person, email=person.email, verified=True, primary=True)
Membership.objects.create(team=Team.objects.get(slug="demo"), user=person, role=Role.MEMBER)
"""
KEY_IN_THE_LAPTOP = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def test_a_passkey_signs_in_without_name_and_password(host: Host, browser: Browser) -> None:
    host.python(PERSON)
    # A passkey belongs to a name; an address of numbers has none.
    url = host.url.replace("127.0.0.1", "localhost")
    with browser.new_context() as context:
        page = context.new_page()
        laptop = context.new_cdp_session(page)
        laptop.send("WebAuthn.enable")
        laptop.send("WebAuthn.addVirtualAuthenticator", {"options": KEY_IN_THE_LAPTOP})

        page.goto(f"{url}/login/")
        page.get_by_label("Username").fill("petra")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_label("Password").press("Enter")
        page.wait_for_url(f"{url}/")
        page.goto(f"{url}/account/mfa/keys/add/")
        page.get_by_label("Password").fill(PASSWORD)  # it is asked for again
        page.get_by_role("button", name="Confirm").click()
        page.get_by_label("Name").fill("My laptop")
        page.get_by_label("Passwordless").check()
        page.get_by_role("button", name="Add").click()
        page.wait_for_url(f"{url}/account/mfa/codes/")  # a first key brings them
        page.goto(f"{url}/account/mfa/keys/")
        expect(page.get_by_role("main")).to_contain_text("My laptop")

        context.clear_cookies()
        page.goto(f"{url}/login/?next=/team/")
        page.get_by_role("button", name="Use a passkey instead").click()
        page.wait_for_url(f"{url}/team/")
        expect(page.get_by_role("banner")).to_contain_text("petra")
