"""Events of few bytes and many values: how many of them a team's runs hold at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from agui_host.backends import apart
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.kinds import http
from agui_host.runtimes.kinds.http import HttpRuntime
from tests.runtimes.kinds.peers import STREAM, Call, peer

RUNS = 8
VALUES = 70_000
EVENT: dict[str, Any] = {"type": "CUSTOM", "name": "x", "value": [{"k": 1}] * VALUES}
MEMORY = 2 * VALUES * apart.VALUE_BYTES


@pytest.fixture(autouse=True)
async def nothing_left(settings: Any) -> AsyncIterator[None]:
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]
    yield
    await http.close()


async def dear(call: Call) -> None:
    await call.raw(STREAM)
    await call.events(EVENT)
    await call.gone()


async def test_runs_of_a_team_hold_few_of_them_and_another_team_waits_for_none() -> None:
    """An event is 0.6 MB of text and 20 MB of values: of 8 runs some wait with the text."""
    alive = most = 0
    full = asyncio.Event()

    async def play(url: str, team: str) -> int:
        nonlocal alive, most
        context = RunContext({"threadId": "t", "runId": "r", "messages": []}, team=team)
        async with aclosing(HttpRuntime(url).run(context)) as events:
            event = await anext(events)
            alive += team == "team"
            most = max(most, alive)
            if team == "team":
                await full.wait()
            alive -= team == "team"
            return len(event["value"])

    async with peer(dear) as far, asyncio.timeout(60):
        runs = [asyncio.create_task(play(far.url, "team")) for _ in range(RUNS)]
        turns = apart.of_this_loop()
        while alive + len(turns.waiting) < RUNS:
            await asyncio.sleep(0)
        assert 2 <= most <= apart.UNDER_WAY[1] // MEMORY
        assert await play(far.url, "another") == VALUES
        full.set()
        assert await asyncio.gather(*runs) == [VALUES] * RUNS
    assert most <= apart.UNDER_WAY[1] // MEMORY
    assert not turns.memory.bytes
