"""The writer's connection is cut at any byte: what was committed is not made twice, nor lost."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import pytest
from django.db import connections

from agui_host.backends.postgres import base
from agui_host.backends.postgres.bridge import db
from agui_host.teams.models import TeamLimits
from events import journal
from events.writer import JournalWriter
from runs.lifecycle import admission
from runs.models import EndedRun, Run, Status, TeamUsage
from tests.cast import Cast, LiveRun, fresh, start, types_of
from tests.proxy import Direction, Proxy, embedded_postgres

pytestmark = pytest.mark.django_db(transaction=True)

CUTS = 24
"""Of each exchange; AGUI_EVERY_BYTE=1 cuts at every byte, which takes minutes."""
COMMIT = 12
"""The bytes of the COMMIT and of a little before it: each of them is tried."""


@pytest.fixture
async def proxy(cast: Cast) -> AsyncIterator[Proxy]:
    with Proxy(embedded_postgres()) as proxy:
        yield proxy


@pytest.fixture
async def distant(
    cast: Cast, proxy: Proxy, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> JournalWriter:
    """A writer that reaches its database through the proxy, as nobody else does."""
    run = await db(start, cast.alice)  # the pool of everybody else exists before
    with monkeypatch.context() as patch:
        patch.setitem(connections.settings["default"], "HOST", proxy.host)
        patch.setitem(connections.settings["default"], "PORT", str(proxy.port))
        live = await LiveRun.begin(run, writer)
    await live.end()  # what follows a commit has a connection past the proxy
    assert proxy.passed["to_server"], "the writer took another way"
    return writer


async def exchange(proxy: Proxy, cast: Cast, writer: JournalWriter) -> dict[Direction, int]:
    """How many bytes the commit of a run's end takes in each direction."""
    live = await LiveRun.begin(await db(start, cast.alice), writer)
    before = dict(proxy.passed)
    await live.end()
    return {direction: proxy.passed[direction] - before[direction] for direction in before}


def points(size: int) -> list[int]:
    if os.environ.get("AGUI_EVERY_BYTE"):
        return list(range(1, size + 1))
    spread = range(1, size - COMMIT, max(1, size // CUTS))
    return [*spread, *range(size - COMMIT, size + 1)]


@pytest.mark.parametrize(
    ("direction", "late", "pooled"),
    [
        ("to_server", None, False),
        ("to_client", None, False),
        ("to_server", 0.15, False),
        ("to_server", 0.08, True),
    ],
)
async def test_every_cut_ends_in_one_stored_end(
    cast: Cast,
    proxy: Proxy,
    distant: JournalWriter,
    monkeypatch: pytest.MonkeyPatch,
    direction: Direction,
    late: float | None,
    pooled: bool,
) -> None:
    """``late``: the commit is still under way when the writer asks whether it was made; ``pooled``:
    and behind a connection pooler, where the earlier attempt cannot be ended."""
    await db(TeamLimits.objects.create, team=cast.team, runs_per_minute=0, concurrent_runs=1)
    if pooled:
        monkeypatch.setattr(base, "PREDECESSOR", "select %s::int, %s::text")
    confirmations = confirmed(monkeypatch)
    size = (await exchange(proxy, cast, distant))[direction]
    cuts = points(size)
    if late is not None:
        cuts = cuts[-COMMIT - 1 :]
    runs = [await db(start, cast.alice)]
    for count in cuts:
        fired = proxy.fired
        live = await LiveRun.begin(runs[-1], distant)
        runs.append(await db(start, cast.alice))
        proxy.cut_after(direction, count, late=late)
        await live.end()
        assert proxy.fired == fired + 1, f"no cut at {count} of {size}"
        async with asyncio.timeout(10):
            while (await db(fresh, runs[-1])).stamp is None:  # admitted, and not by the sweep
                await asyncio.sleep(0.01)
    await db(verify, runs[:-1])
    if pooled:
        assert any(confirmations), "no commit came through behind the writer's back"


def confirmed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many batches each question found to be committed, by an attempt that seemed lost."""
    confirmations: list[int] = []
    real = journal.confirm

    def confirm(batches: Sequence[journal.Batch]) -> set[UUID]:
        ids = real(batches)
        confirmations.append(len(ids))
        return ids

    monkeypatch.setattr(journal, "confirm", confirm)
    return confirmations


def verify(runs: list[Run]) -> None:
    for run in runs:
        assert types_of(run) == ["RUN_STARTED", "RUN_FINISHED"]
        assert fresh(run).status == Status.SUCCEEDED
    ended = Run.objects.filter(status=Status.SUCCEEDED)
    stored = sum(ended.values_list("journal__bytes", flat=True))
    admission.sweep()
    assert TeamUsage.objects.get().stored_bytes == stored, "each end counts once"
    assert not EndedRun.objects.exists()
