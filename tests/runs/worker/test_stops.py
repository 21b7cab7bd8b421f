"""Runs that are stopped, and workers that have lost theirs: still one end each."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.kinds import python
from events.models import Event
from events.writer import JournalWriter, commits
from runs.lifecycle import lifecycle
from runs.models import Run
from runs.worker.executor import Stop, execute
from tests.cast import Cast, Register, fresh, log_of, start
from tests.runs.playing import (
    PREFIX,
    SECRET,
    Play,
    after_prefix,
    failure,
    kept_prefix,
    settled,
)

pytestmark = pytest.mark.django_db(transaction=True)


class TestStops:
    """A run is told to stop by cancelling the task that executes it."""

    @pytest.fixture(autouse=True)
    def _impatient(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        settings.AGUI_CANCEL_GRACE = 0.5
        monkeypatch.setattr(python, "CANCEL_GRACE", 0.1)

    async def stopped(
        self, cast: Cast, register: Register, writer: JournalWriter, target: Any, why: Stop
    ) -> tuple[Run, list[dict[str, Any]]]:
        """Stop the agent once its first events are stored; what the worker's task raised."""
        agent = await db(register, "subject", target)
        run = await db(start, cast.alice, agent)
        claimed = await db(lifecycle.claim, run.pk)
        assert claimed
        task = asyncio.create_task(execute(claimed, writer, lambda: why))
        while not await db(Event.objects.filter(journal_id=run.pk, seq=3).exists):
            assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 20)
        return await settled(await db(fresh, run))

    @staticmethod
    async def waits(ctx: Any) -> AsyncIterator[Any]:
        for event in PREFIX:
            yield event
        await asyncio.Event().wait()

    async def test_cancelled_in_an_await(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        run, log = await self.stopped(cast, register, writer, self.waits, Stop.CANCEL)
        assert run.status == "cancelled"
        assert log[-1]["outcome"] == {"type": "cancelled"}
        assert kept_prefix(log)

    async def test_shut_down(self, cast: Cast, register: Register, writer: JournalWriter) -> None:
        run, log = await self.stopped(cast, register, writer, self.waits, Stop.SHUTDOWN)
        assert failure(run, log)[0] == "shutdown"
        assert kept_prefix(log)

    async def test_an_agent_that_swallows_the_cancellation(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        freed = asyncio.Event()

        async def stubborn(ctx: Any) -> AsyncIterator[Any]:
            for event in PREFIX:
                yield event
            while not freed.is_set():
                try:
                    await freed.wait()
                except asyncio.CancelledError:
                    continue
            yield {"type": "CUSTOM", "name": "zombie", "value": 1}

        run, _ = await self.stopped(cast, register, writer, stubborn, Stop.CANCEL)
        assert run.status == "cancelled"
        freed.set()
        await asyncio.gather(*python._left_behind, return_exceptions=True)
        assert "zombie" not in str(await db(log_of, run))

    async def test_an_agent_that_answers_a_cancellation_with_an_error(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        async def sore(ctx: Any) -> AsyncIterator[Any]:
            try:
                for event in PREFIX:
                    yield event
                await asyncio.Event().wait()
            finally:
                raise RuntimeError(SECRET)

        run, log = await self.stopped(cast, register, writer, sore, Stop.CANCEL)
        assert run.status == "cancelled"
        assert "hunter2" not in str(log)

    async def test_a_thread_that_does_not_look(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        blocked = threading.Event()

        def deaf(ctx: Any) -> Any:
            yield from PREFIX
            blocked.wait(10)

        run, _ = await self.stopped(cast, register, writer, deaf, Stop.CANCEL)
        blocked.set()
        assert run.status == "cancelled"

    async def test_stopped_before_it_began(self, cast: Cast, writer: JournalWriter) -> None:
        run = await db(start, cast.alice)
        claimed = await db(lifecycle.claim, run.pk)
        assert claimed
        with pytest.raises(asyncio.CancelledError):
            await execute(claimed, writer, lambda: Stop.CANCEL, stopped=True)
        ended, _ = await settled(await db(fresh, run))
        assert ended.status == "cancelled"


class TestLostLeases:
    async def test_a_worker_that_lost_its_run_appends_nothing_more(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        go_on = asyncio.Event()

        async def agent(ctx: Any) -> AsyncIterator[Any]:
            yield PREFIX[0]
            await go_on.wait()
            yield PREFIX[1]

        row = await db(register, "subject", agent)
        run = await db(start, cast.alice, row)
        claimed = await db(lifecycle.claim, run.pk)
        assert claimed
        task = asyncio.create_task(execute(claimed, writer, lambda: Stop.CANCEL))
        while not await db(Event.objects.filter(journal_id=run.pk, seq=2).exists):
            assert not task.done()
        assert await db(lifecycle.end_lost, run)
        go_on.set()
        await asyncio.wait_for(task, 20)
        ended, log = await settled(await db(fresh, run))
        assert ended.error_code == "worker_lost"
        assert [event["type"] for event in log[1:]] == ["TEXT_MESSAGE_START", "RUN_ERROR"]

    async def test_a_batch_that_the_database_refuses(
        self, play: Play, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fired: list[int] = []
        real = commits.store_in_one_message

        def refuse_once(work: Any, *args: Any) -> Any:
            if any(r.type == "CUSTOM" for batch, _ in work for r in batch.records):
                fired.append(1)
                raise ValueError(SECRET)
            return real(work, *args)

        monkeypatch.setattr(commits, "store_in_one_message", refuse_once)
        run, log = await play(after_prefix({"type": "CUSTOM", "name": "n", "value": 1}))
        assert fired
        assert failure(run, log)[0] == "invalid_event"
