"""The shipped deployment really starts and lets the first person in."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.acceptance.deployed import (
    NAME,
    WEBS,
    WORKERS,
    Deployed,
    mailed,
    owned_by_account,
)
from tests.acceptance.test_pages_in_browser import ARGS, SECONDS
from tests.acceptance.test_two_browsers import CODE
from tests.conftest import own_data_dir
from tests.needs import need, need_root

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ALICE, PASSWORD = "alice@example.com", "alices-horse-battery-staple"


@pytest.fixture(scope="module")
def deployed() -> Iterator[Deployed]:
    need_root()
    need("nginx")
    with own_data_dir() as folder:
        deployed = Deployed(folder)
        deployed.build()
        with deployed.engines():
            try:
                deployed.run(*deployed.command("migrate"), service="migrate")
                for name in (*WEBS, *WORKERS):
                    deployed.start(name)
                deployed.start_proxy()
                deployed.wait_ready()
                yield deployed
            finally:
                deployed.stop()
        assert owned_by_account(deployed.app) == []


def test_the_first_person_signs_in_and_sees_a_run_stream(deployed: Deployed) -> None:
    """docs/deploy.md, "The first person": an invitation, a mailed code, a run on the page."""
    made = deployed.run(
        "python", "manage.py", "create_team", "acme", "--name", "Acme", "--owner", ALICE
    )
    link = re.search(r"https://\S+", made)
    assert link, made
    assert link[0].startswith(f"{deployed.url}/invitations/")
    chromium = need("chromium")
    args = [*ARGS, f"--host-resolver-rules=MAP {NAME} 127.0.0.1"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium), args=args)
        # Its own list of authorities is not ours to change; httpx checks the certificate.
        page = browser.new_context(ignore_https_errors=True).new_page()
        page.set_default_timeout(SECONDS)
        expect.set_options(timeout=SECONDS)
        page.goto(link[0])
        page.get_by_role("link", name="Sign up").click()
        page.get_by_label("Username").fill("alice")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_label("Password").press("Enter")
        page.wait_for_url("**/account/verify/**")
        page.get_by_label("Code").fill(mailed(deployed, ALICE, CODE))
        page.get_by_label("Code").press("Enter")
        page.get_by_role("button", name="Join").click()
        page.wait_for_url("**/runs/")
        (cookie,) = [c for c in page.context.cookies() if c["name"] == "sessionid"]
        assert cookie["secure"]
        page.get_by_label("Agent").first.select_option("slow")
        page.get_by_label("Message").fill("to the page")
        page.get_by_label("Message").press("Control+Enter")
        expect(page.locator("#connection")).to_have_text("Live")
        expect(page.locator("#conversation")).to_contain_text("to the page")
        browser.close()
