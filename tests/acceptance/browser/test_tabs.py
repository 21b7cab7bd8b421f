"""Many pages of live runs in one browser: over HTTP/1.1 it has six connections for all of them."""

from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.acceptance.browser.test_pages import Open, open_page, session
from tests.acceptance.host import Host

__all__ = ["open_page", "session"]

pytestmark = pytest.mark.slow

TABS = 9


@pytest.mark.parametrize("kind", ["one run", "a run each"])
def test_the_ninth_tab_loads_and_each_sees_what_comes(
    open_page: Open, host: Host, tmp_path: Path, kind: str
) -> None:
    gate = tmp_path / "gate"
    endless = [{"text": "first"}, {"until": str(gate)}, {"text": "second"}, {"forever": True}]
    number = 1 if kind == "one run" else TABS
    runs = [
        host.begin("scripted", script=endless, threadId=f"tabs-{uuid4()}")["id"]
        for _ in range(number)
    ]
    context = open_page("/runs/").context
    tabs = []
    for at in range(TABS):
        tab = context.new_page()
        tab.goto(f"/runs/{runs[at % number]}/#messages", wait_until="domcontentloaded")
        tabs.append(tab)
    for tab in tabs:
        expect(tab.locator(".message.assistant").first).to_contain_text("first", timeout=20_000)
    gate.touch()
    for tab in tabs:
        expect(tab.locator(".message.assistant").last).to_contain_text("second", timeout=30_000)
    with host.client() as client:
        for run in runs:
            client.post(f"/api/v1/runs/{run}/cancel").raise_for_status()
    for tab in tabs:
        expect(tab.locator(".title .chip")).to_have_text("cancelled", timeout=20_000)
