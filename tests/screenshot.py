"""Makes the picture of README.md: ``python -m tests.screenshot`` (or ``make screenshot``).

Starts a host of its own, plays a few plausible runs and takes the page of one of them with headless
Chromium. The picture shows no times or names of this machine.
"""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

from tests.acceptance.host import Host
from tests.conftest import own_data_dir
from tests.needs import need

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "run.png"
LARGEST = 200 * 1024
SIZE = {"width": 1200, "height": 760}
AGENTS = """
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team
for slug in ("invoice-check", "release-notes", "support-triage"):
    team = Team.objects.get(slug="demo")
    Agent.objects.create(team=team, slug=slug, name=slug, target="scripted")
"""


def tool(call: str, name: str, args: str, content: str) -> list[dict[str, Any]]:
    """The events of one call of a tool, with its result."""
    events = [
        {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": name},
        {"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": args},
        {"type": "TOOL_CALL_END", "toolCallId": call},
        {"type": "TOOL_CALL_RESULT", "messageId": f"{call}-result", "toolCallId": call,
         "content": content, "role": "tool"},
    ]  # fmt: skip
    return [{"emit": event} for event in events]


INVOICE = [
    {"text": "I compare the invoice with the order and with what was delivered."},
    {"state": {"invoice": "2026-0815", "checked": ["supplier", "total"]}},
    *tool("order", "find_order", '{"number": "4711"}', '{"items": 12, "total": "1,940.00 EUR"}'),
    *tool("delivery", "find_delivery", '{"order": "4711"}', '{"items": 11, "missing": "cable"}'),
    {"text": "The total matches order 4711, but only 11 of 12 items arrived."},
    {"interrupt": {
        "reason": "approval",
        "message": "Pay 1,895.00 EUR now and the cable when it arrives?",
        "response_schema": {
            "type": "object",
            "properties": {"approved": {"type": "boolean", "title": "Pay the reduced sum?"}},
            "required": ["approved"],
        },
    }},
]  # fmt: skip


def ask(host: Host, agent: str, question: str, script: list[dict[str, Any]]) -> dict[str, Any]:
    """Start a run of a plausible agent; the run as the API shows it."""
    message = {"id": f"{agent}-question", "role": "user", "content": question}
    return host.begin(agent, script, threadId=f"{agent}-thread", messages=[message])


def take(page: Page, host: Host, run: str) -> None:
    """Sign in, open the run and store the picture."""
    page.goto(f"{host.url}/login/?next=/runs/{run}/%23messages")
    page.get_by_label("Username").fill(host.login)
    page.get_by_label("Password").fill(host.password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#conversation").get_by_text("only 11 of 12 items")).to_be_visible(
        timeout=30_000
    )
    PICTURE.parent.mkdir(exist_ok=True)
    page.screenshot(path=PICTURE)


def main() -> None:
    """Make the picture anew. Fails if it is larger than 200 KB."""
    with own_data_dir() as data, sync_playwright() as playwright:
        host = Host(data)
        try:
            host.start()
            host.python(AGENTS)
            run = ask(host, "invoice-check", "Please check invoice 2026-0815.", INVOICE)
            host.wait_status(run["id"], "succeeded", "interrupted", "failed")
            browser = playwright.chromium.launch(
                executable_path=str(need("chromium")), args=["--no-sandbox", "--disable-gpu"]
            )
            take(browser.new_page(viewport=SIZE), host, run["id"])
            browser.close()
        finally:
            host.stop()
    size = PICTURE.stat().st_size
    assert size <= LARGEST, f"{PICTURE} has {size} bytes"
    print(f"{PICTURE}: {size} bytes")


if __name__ == "__main__":
    main()
