"""The page of a long run: it reads what somebody looks at, and the host folds the rest."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.acceptance.browser.test_pages import ended, open_page, session
from tests.acceptance.browser.test_timeline import CHOSEN, emit
from tests.acceptance.host import Host, wait_for

__all__ = ["open_page", "session"]

pytestmark = pytest.mark.slow

Open = Callable[..., Page]
ROUNDS = 150
SCRIPT: list[dict[str, Any]] = [
    step
    for n in range(ROUNDS)
    for step in (
        {"text": f"Round {n}: ", "n": 20},
        *emit({"type": "STATE_SNAPSHOT", "snapshot": {"round": n}}),
    )
]


def rows_of(host: Host, run: str, kind: str) -> list[dict[str, Any]]:
    with host.client() as client:
        rows = client.get(f"/api/v1/runs/{run}/outline").json()["rows"]
    return [row for row in rows if row["kind"] == kind]


def test_it_reads_what_somebody_looks_at(open_page: Open, host: Host) -> None:
    run = ended(host, SCRIPT, messages=[{"id": "u", "role": "user", "content": "Go."}])
    messages = rows_of(host, run, "message")
    head = len(host.events(run))
    assert head > 2_500, "the run is short, and its page reads all of it"
    requests: list[Request] = []
    page = open_page("/runs/")
    page.on("request", lambda request: requests.append(request))
    page.goto(f"/runs/{run}/#timeline&seq={messages[100]['seq0']}")
    expect(page.locator(CHOSEN)).to_have_attribute("data-kind", "message")
    expect(page.locator("#count-messages")).to_have_text(str(len(messages)))

    page.keyboard.press("e")
    expect(page.locator("#detail")).to_contain_text("TEXT_MESSAGE_START")
    expect(page.locator("#shown")).to_have_text(f"{head} events")
    page.keyboard.press("s")
    expect(page.locator("#state-tree")).to_contain_text("round:99")
    page.keyboard.press("m")
    expect(page.locator("#conversation [aria-current]")).to_contain_text("Round 100")
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    expect(page.locator("#state-tree")).to_contain_text(f"round:{ROUNDS - 1}")

    urls = [request.url for request in requests]
    assert not [url for url in urls if "/events?after=0" in url and "limit=1" not in url]
    pages = [url for url in urls if re.search(r"/events\?after=\*-\d+&limit=[^1]", url)]
    assert 1 <= len(pages) <= 4


def test_a_long_run_that_goes_on(open_page: Open, host: Host) -> None:
    script = [*SCRIPT, *({"text": f"later {n} "} for n in range(3)), {"sleep": 4}]
    later = [
        {"text": "the last word"},
        *emit({"type": "STATE_SNAPSHOT", "snapshot": {"at": "end"}}),
    ]
    run = host.begin(script=[*script, *later, {"forever": True}])["id"]
    host.wait_status(run, "running")
    page = open_page(f"/runs/{run}/#messages")
    expect(page.locator("#conversation")).to_contain_text("the last word")
    page.keyboard.press("s")
    expect(page.locator("#state-tree")).to_contain_text('at:"end"')
    with host.client() as client:
        assert client.post(f"/api/v1/runs/{run}/cancel").is_success
    expect(page.locator(".title .chip")).to_have_text("cancelled")
    page.keyboard.press("m")
    expect(page.locator("#conversation")).to_contain_text("Cancelled")
    expect(page.locator("#connection")).to_be_empty()


def test_an_event_that_comes_before_its_row(open_page: Open, host: Host) -> None:
    """The selection is the event's own row, though another one was closest for a while."""
    run = ended(host, SCRIPT)
    with host.client() as client:
        outline = client.get(f"/api/v1/runs/{run}/outline").json()
    first = {**outline, "rows": outline["rows"][:40]}
    padding = " " * 4_000_001  # so the page asks for further rows
    waiting: list[Route] = []

    def answer(route: Route) -> None:
        if "after=0" in route.request.url:
            route.fulfill(body=json.dumps(first) + padding)
        else:
            waiting.append(route)

    message = [row for row in outline["rows"] if row["kind"] == "message"][100]
    page = open_page("/runs/")
    page.route("**/outline?*", answer)
    page.goto(f"/runs/{run}/#seq={message['seq0']}")
    expect(page.locator("#detail")).to_contain_text("TEXT_MESSAGE_START")
    wait_for(lambda: page.wait_for_timeout(50) or waiting, "the page to ask for further rows")
    waiting.pop().continue_()
    page.keyboard.press("t")
    expect(page.locator(CHOSEN)).to_contain_text("Round 100")
