"""New runs of threads: one query per tick, however many sockets subscribe."""

import asyncio
from collections.abc import Set
from unittest.mock import Mock
from uuid import UUID, uuid4

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.web.host_socket.new_runs import NewRuns, Runs, new_runs
from events.writer import JournalWriter
from runs.access import following
from tests.cast import Cast, LiveRun, start
from tests.web.calling import calling

pytestmark = pytest.mark.django_db(transaction=True)


class Socket:
    def __init__(self, *threads: UUID) -> None:
        self._threads, self.heard = set(threads), list[Runs]()

    def threads(self) -> Set[UUID]:
        return self._threads

    def learn(self, runs: Runs) -> None:
        self.heard.append(runs)


async def test_two_hundred_sockets_cost_one_query_per_tick(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await db(start, cast.alice, threadId="t")
    queries = Mock(wraps=following.made_since)
    monkeypatch.setattr(following, "made_since", queries)
    all_, sockets = NewRuns(), [Socket(run.thread_id, uuid4()) for _ in range(200)]
    for socket in sockets:
        all_.begin(socket)
    await all_.look()
    assert queries.call_count == 1
    assert [socket.heard for socket in sockets] == [[{run.thread_id: {run.pk}}]] * 200
    for socket in sockets:
        all_.end(socket)
    await all_.look()
    assert queries.call_count == 1


async def test_an_idle_socket_does_not_query(
    cast: Cast, live: LiveRun, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = Mock(wraps=following.since)
    monkeypatch.setattr(following, "since", queries)
    async with calling(cast.bob.headers) as peer:
        await peer.call("thread.subscribe", thread_id="t")
        await live.end()
        for _ in range(5):
            await peer.params("event")
        later = await db(start, cast.alice, threadId="t", runId="later")
        while not queries.call_count:  # until it has caught up
            await new_runs().look()
            await asyncio.sleep(0)
        run = await LiveRun.begin(later, writer)
        assert (await peer.params("event"))["run"] == str(run.run.pk)
        idle = queries.call_count
        for _ in range(20):
            await new_runs().look()
        assert queries.call_count == idle
