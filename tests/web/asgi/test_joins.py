"""Readers who come at once to a run that has ended: an answer each, and few reads for all."""

import asyncio
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.teams.models import TeamLimits
from events.writer import JournalWriter
from runs.access import access
from tests.asgi import Exchange, ask, events_of
from tests.cast import Cast, LiveRun, log_of, start

pytestmark = pytest.mark.django_db(transaction=True)
SSE = {"accept": "text/event-stream"}
READERS = 60


async def test_they_share_reads_but_no_rights(
    cast: Cast, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await LiveRun.begin(await db(start, cast.alice, threadId="t"), writer)
    await run.end()
    stored = list(enumerate(await db(log_of, run.run), 1))
    reads: list[str] = []
    find = access.find

    def counting(principal: Any, *args: Any) -> Any:
        reads.append(principal.name)
        return find(principal, *args)

    monkeypatch.setattr(access, "find", counting)
    url, alice, stranger = (f"{run.url}?after=0", cast.alice.headers, cast.charlie.headers)
    for headers in (alice, stranger):  # From now on their keys cost no read.
        await ask("GET", url, {**headers, **SSE})
    reads.clear()
    answers = await asyncio.gather(
        *(ask("GET", url, {**alice, **SSE}) for _ in range(READERS)),
        *(ask("GET", url, {**stranger, **SSE}) for _ in range(READERS)),
        ask("GET", f"{run.url}?after=1", {**alice, **SSE}),
        ask("GET", f"{run.url}?after=99", {**alice, **SSE}),
    )
    assert all(events_of(answer.body) == stored for answer in answers[:READERS])
    assert {answer.status for answer in answers[READERS:-2]} == {404}
    assert events_of(answers[-2].body) == stored[1:]
    assert answers[-1].code == "bad_cursor"
    assert len(reads) < 1.5 * READERS, "many have waited for another's read"


async def test_a_log_that_is_over_is_no_open_stream(cast: Cast, writer: JournalWriter) -> None:
    await db(TeamLimits.objects.create, team=cast.team, open_streams=1)
    live = await LiveRun.begin(await db(start, cast.alice, threadId="live"), writer)
    over = await LiveRun.begin(await db(start, cast.alice, threadId="over"), writer)
    await over.end()
    headers = {**cast.alice.headers, **SSE}
    async with Exchange("GET", live.url, headers) as stream:
        await stream.until(b"retry:")
        answer = await ask("GET", over.url, headers)
        assert answer.status == 200
        assert events_of(answer.body) == list(enumerate(await db(log_of, over.run), 1))
        assert (await ask("GET", live.url, headers)).code == "limit_reached"
