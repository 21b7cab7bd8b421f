"""Runs that lose their worker in the middle, in one process."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.bridge import db
from events.writer import JournalWriter
from runs.lifecycle import repetition
from runs.models import Run
from runs.worker.continuing import claims
from runs.worker.executor import Stop, execute
from tests.cast import Cast, Register, fresh, start
from tests.runs.jobs import give


def lose(run: Run) -> bool:
    """What the reaper does when the run's worker is gone."""
    give(run, None)
    run = Run.objects.select_related("thread", "agent").get(pk=run.pk)
    return repetition.end_lost(run)


class Workers:
    """Workers of a run, one after the other."""

    def __init__(self, run: Run, writer: JournalWriter) -> None:
        self.run, self.writer = run, writer
        self.why = Stop.CANCEL
        self.task: asyncio.Task[None] | None = None

    async def take(self) -> None:
        """Claim the run as a worker does, and begin to execute it."""
        claimed = await db(claims.claim, self.run.pk, clock.now())
        assert claimed
        self.task = asyncio.create_task(execute(claimed, self.writer, lambda: self.why))

    async def to_the_end(self) -> Run:
        assert self.task
        await asyncio.wait_for(self.task, 20)
        return await db(fresh, self.run)

    async def shut_down(self) -> None:
        """The worker leaves."""
        assert self.task
        self.why = Stop.SHUTDOWN
        self.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(self.task, 20)
        self.why = Stop.CANCEL


Begin = Callable[..., Awaitable[Workers]]


@pytest.fixture
def begin(cast: Cast, register: Register, writer: JournalWriter) -> Begin:
    """A run of an agent that continues, begun by its first worker."""

    async def begun(target: Any, words: str = "", **fields: Any) -> Workers:
        fields = {"recovery": "continue", **fields}
        agent = await db(register, "subject", target, **fields)
        messages = [{"id": "u", "role": "user", "content": words}] if words else []
        body = {"threadId": "t", "runId": "r", "messages": messages}
        workers = Workers(await db(lambda: start(cast.alice, agent, **body)), writer)
        await workers.take()
        return workers

    return begun
