"""Readers who join a live run with a large message and read nothing: one prelude for all."""

import asyncio

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.web.shares import openings
from events.writer import JournalWriter
from runs.lifecycle.logs import joining
from tests.asgi import Exchange
from tests.cast import Cast, LiveRun, start

pytestmark = pytest.mark.django_db(transaction=True)
SSE = {"accept": "text/event-stream"}
READERS = 40


async def test_forty_joins_fold_and_hold_one_prelude(
    cast: Cast, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = {"id": "m", "role": "user", "content": "x" * 1_000_000}
    run = await db(start, cast.alice, threadId="t", messages=[message])
    live = await LiveRun.begin(run, writer)
    made: list[int] = []
    folded = joining._fold_at

    def counting(*args: object) -> object:
        made.append(1)
        return folded(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(joining, "_fold_at", counting)
    headers = {**cast.bob.headers, **SSE}
    async with Exchange("GET", live.url, headers) as first:
        await first.until(b"MESSAGES_SNAPSHOT")
        await live.say("more")  # The next readers join at a later event, with the same prelude.
        before = len(made)
        exchanges = [Exchange("GET", live.url, headers) for _ in range(READERS)]
        for each in exchanges:
            await each.__aenter__()
        try:
            bodies = await asyncio.gather(*(each.until(b'"value":"more"') for each in exchanges))
        finally:
            for each in exchanges:
                await each.__aexit__(None, None, None)
        assert len(bodies) == READERS
        assert len(made) == before
        assert openings.ledger.bytes == 0
