"""Openings on their way: shared ones count once, and a team has a bound."""

import sys
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from agui_host.backends.held import Held
from agui_host.teams.limits import LimitReached
from agui_host.web import sse
from agui_host.web.shares import openings
from agui_host.web.shares.openings import LARGE, Opening


@pytest.fixture(autouse=True)
def ledger(monkeypatch: pytest.MonkeyPatch) -> Held:
    ledger = Held(process=30_000_000, team=20_000_000)
    monkeypatch.setattr(openings, "ledger", ledger)
    return ledger


def test_forty_readers_of_one_opening_hold_it_once(ledger: Held) -> None:
    prelude, team = b"x" * 9_000_000, uuid4()
    readers = [Opening(team, prelude) for _ in range(40)]
    assert ledger.bytes == len(prelude)
    pieces = [next(iter(each)) for each in readers]
    assert sum(map(len, pieces)) == 40 * LARGE, "each has one piece of it"
    for each in readers:
        each.close()
    assert ledger.bytes == 0


def test_others_are_refused_above_the_bound(ledger: Held) -> None:
    team = uuid4()
    readers = [Opening(team, bytes([n]) * 9_000_000) for n in range(2)]
    with pytest.raises(LimitReached) as refused:
        Opening(team, b"z" * 9_000_000)
    assert refused.value.headers["Retry-After"] == "1"
    assert b"".join(readers[0]) == b"\0" * 9_000_000, "sent whole"
    Opening(team, b"z" * 9_000_000).close()


async def test_a_stream_lets_go_of_what_it_has_sent() -> None:
    prelude = b"y" * 1_000_000
    before, bodies = sys.getrefcount(prelude), list[bytes]()

    async def send(message: Any) -> None:
        bodies.append(message["body"])

    async def batches() -> AsyncIterator[None]:
        assert sys.getrefcount(prelude) == before
        yield None

    await sse.stream(send, batches(), stall=5, opening=Opening(uuid4(), prelude))
    assert b"".join(bodies) == sse.EVENTS.greeting + prelude + sse.HEARTBEAT
    assert max(map(len, bodies)) < LARGE + 100
