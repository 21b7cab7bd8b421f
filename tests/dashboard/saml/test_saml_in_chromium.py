"""Chromium signs in by SAML at a provider on another site, on a host of its environment."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.host import Host
from tests.dashboard.saml.idp import IdentityProvider

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("scripts", [True, False])
def test_a_browser_signs_in_at_another_site(
    new_host: Callable[..., Host], browser: Browser, scripts: bool
) -> None:
    # For a browser localhost and 127.0.0.1 are two sites: Lax cookies do not come with its POST.
    with IdentityProvider("localhost") as idp:
        host = new_host(
            AGUI_SAML_METADATA_URL=f"http://127.0.0.1:{idp.server.server_port}/metadata",
            AGUI_SAML_NAME="Acme account",
            AGUI_SAML_VERIFIED_DOMAINS="example.com",
            AGUI_OUTBOUND_ALLOW="127.0.0.1",
            AGUI_SIGNUP="open",
        )
        with browser.new_context(java_script_enabled=scripts) as context:
            page = context.new_page()
            wrong: list[str] = []
            page.on("console", lambda line: wrong.append(line.text))
            page.goto(f"{host.url}/team/")
            page.get_by_role("button", name="Acme account").click()
            if not scripts:
                page.wait_for_url(f"{idp.url}/sso?**")
                page.locator("form").evaluate("form => form.submit()")
                page.get_by_role("button", name="Continue").click()
            page.wait_for_url(f"{host.url}/team/")
            expect(page.get_by_role("banner")).to_contain_text("dora")
            assert wrong == []
