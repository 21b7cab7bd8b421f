"""A database that is away for a moment stops no worker, and a worker misses no job."""

import asyncio
import runpy
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from procrastinate.contrib.django import app
from procrastinate.contrib.django.db_cleanup import close_db_connections
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import DeleteJobCondition
from procrastinate.periodic import PeriodicDeferrer

from agui_host.backends.postgres.base import queue_parameters
from agui_host.backends.postgres.bridge import db
from events.writer import JournalWriter
from runs.lifecycle import jobs
from runs.lifecycle.words import storing
from runs.models import Run
from runs.worker import resilience, tasks
from runs.worker.resilience import PatientConnector, PatientWorker, Wakeups
from tests.cast import Cast, fresh, start
from tests.house.repository import ROOT


async def test_what_is_due_meanwhile_is_deferred_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpatiently, the worker stopped when a restart of Postgres met the full minute."""
    tries = []

    async def worker(self: PeriodicDeferrer) -> None:
        tries.append(len(self.registry.periodic_tasks))
        if len(tries) < 3:
            raise ConnectorException

    monkeypatch.setattr(PeriodicDeferrer, "worker", worker)
    monkeypatch.setattr(resilience, "PAUSE", 0)
    await PatientWorker(app, queues=["runs"])._periodic_deferrer()
    assert len(tries) == 3
    assert tries[0] > 0


async def test_what_rings_during_a_fetch_is_looked_for_once_more() -> None:
    bell = Wakeups()
    bell.set()  # announced; the fetch finds it, or what it announced is locked still
    bell.clear()
    assert bell.is_set(), "one more fetch"
    bell.clear()
    assert not bell.is_set(), "and then it is quiet"


class OnlyRuns(PatientWorker):
    """Leaves the periodic tasks alone: their threads keep a connection."""

    async def _periodic_deferrer(self) -> None:
        await asyncio.Event().wait()


@pytest.mark.django_db(transaction=True)
async def test_no_run_waits_for_the_poll(cast: Cast, writer: JournalWriter) -> None:
    """Each run of a thread waits for the lock of the one before; the poll comes too late here."""

    def queue() -> list[Run]:
        return [
            start(cast.alice, threadId="one", runId=f"r{n}", onBusy="enqueue") for n in range(30)
        ]

    runs = await db(queue)
    patient = app.with_connector(PatientConnector(**queue_parameters()))
    async with patient.open_async():
        worker = OnlyRuns(
            patient,
            queues=[jobs.QUEUE],
            concurrency=4,
            fetch_job_polling_interval=600,
            delete_jobs=DeleteJobCondition.ALWAYS.value,
            additional_context={tasks.WRITER: writer},
            install_signal_handlers=False,
        )
        working = asyncio.create_task(worker.run())
        async with asyncio.timeout(60):
            while (await db(fresh, runs[-1])).ended_at is None:
                await asyncio.sleep(0.05)
        worker.stop()
        await working
    assert {(await db(fresh, run)).status for run in runs} == {"succeeded"}


@pytest.mark.django_db(transaction=True)
async def test_a_chore_takes_no_place_of_a_run(
    cast: Cast, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A purge may take ten minutes, and a small worker may have one place."""
    begun, may_end = threading.Event(), threading.Event()

    def chore(*_: object) -> int:
        begun.set()
        assert may_end.wait(60)
        return 0

    monkeypatch.setattr(storing, "run_once", chore)
    await db(tasks.store_words.defer, timestamp=0)
    async with one_place(writer):
        assert await asyncio.to_thread(begun.wait, 30)
        run = await db(start, cast.alice)
        try:
            async with asyncio.timeout(30):
                while (await db(fresh, run)).ended_at is None:
                    await asyncio.sleep(0.05)
        finally:
            may_end.set()


@asynccontextmanager
async def one_place(writer: JournalWriter) -> AsyncIterator[None]:
    """A worker that executes one run at a time."""
    patient = app.with_connector(PatientConnector(**queue_parameters()))
    async with patient.open_async():
        worker = OnlyRuns(
            patient,
            queues=[jobs.QUEUE],
            concurrency=1,
            delete_jobs=DeleteJobCondition.ALWAYS.value,
            additional_context={tasks.WRITER: writer, tasks.LEAVING: bool},
            install_signal_handlers=False,
            task_middleware=[close_db_connections],
        )
        working = asyncio.create_task(worker.run())
        yield
        worker.stop()
        await working


@pytest.fixture
def reproduction() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "upstream" / "lost_wakeup.py"))


async def test_our_worker_hears_of_it(reproduction: dict[str, Any]) -> None:
    class Awake(reproduction["Worker"]):  # type: ignore[misc, name-defined]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._new_job_event = Wakeups()

    assert await reproduction["main"](Awake, within=30)


async def test_procrastinate_still_forgets_it(reproduction: dict[str, Any]) -> None:
    """When this fails, Procrastinate has mended it: ``Wakeups`` and its report can go."""
    assert not await reproduction["main"]()
