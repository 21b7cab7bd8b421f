"""A new key in a browser: its agents are ticked, and the commands on the page work as they are."""

import subprocess
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.acceptance.browser.test_pages import Open, open_page, session
from tests.acceptance.host import Host
from tests.needs import need

__all__ = ["open_page", "session"]

pytestmark = pytest.mark.slow


def output(command: list[str], text: str = "") -> str:
    process = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.mark.parametrize("scope", ["Run", "Read"])
def test_the_commands_work_as_they_are(open_page: Open, host: Host, scope: str) -> None:
    page = open_page("/team/keys/")
    page.get_by_label("Name").fill(f"snippet {uuid4().hex[:8]}")
    for name in ("Read", "Run"):
        page.get_by_label(name, exact=True).set_checked(name == scope)
    page.get_by_label("scripted", exact=True).check()
    page.get_by_role("button", name="Create key").click()
    expect(page.get_by_role("heading", name="Try it now")).to_be_visible()
    curl, script = page.locator("pre.snippet").all_inner_texts()
    signs = ("RUN_STARTED", "RUN_FINISHED") if scope == "Run" else ("results",)
    for text in (
        output(["bash", "-c", curl]),
        output([str(need("node")), "--input-type=module"], script),
    ):
        for sign in signs:
            assert sign in text
