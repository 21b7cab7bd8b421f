"""A worker of this process, whose connections to PostgreSQL are lost in each of four ways.

Whatever happens to them, periodic tasks are deferred and executed again, queued runs are executed,
and live ones go on: without a hand on it, within ``RECOVERY`` seconds.
"""

import asyncio
import collections
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from typing import cast as typed

import pytest
from django.db import InterfaceError, OperationalError, connection, transaction
from procrastinate import JobContext
from procrastinate.contrib.django import app

from agui_host.backends.postgres import bridge
from agui_host.backends.postgres.base import DatabaseWrapper
from agui_host.backends.postgres.bridge import db
from agui_host.backends.postgres.reserved import ReservedWrapper
from agui_host.embedded import embedded
from events.writer import JournalWriter
from runs.lifecycle import admission, jobs
from runs.worker import chores
from runs.worker.taking.loop import Runs
from runs.worker.watchdog import Heartbeat
from tests.cast import Cast, Register, fresh, log_of, start
from tests.proxy import Proxy, embedded_postgres

RECOVERY = 30.0
PERIODIC = {
    "expire_interrupts", "purge_what_is_over", "sweep_erased", "keep_partitions_ahead",
    "recount_stored_bytes",
    "drop_expired_sessions",
}  # fmt: skip


class Ways:
    """Two ways to the database: the second is where a failover leads."""

    def __init__(self, first: Proxy, second: Proxy, engines: embedded.Engines) -> None:
        self.first, self.second, self.engines = first, second, engines

    def restart(self) -> None:
        self.engines.stop_postgres()
        self.engines.start_postgres()

    def kill(self) -> None:
        self.first.cut_all()
        assert self.first.fired

    def fail_over(self) -> None:
        """The first address refuses from now on; the connections that it had are cut."""
        self.first.refusing = True
        self.first.cut_all()
        assert self.first.fired

    def swallow(self) -> None:
        self.first.swallow()
        assert self.first.fired


@contextmanager
def _two_ways(engines: embedded.Engines) -> Iterator[Ways]:
    where = connection.settings_dict
    before = {name: where[name] for name in ("HOST", "PORT")}
    with Proxy(embedded_postgres()) as first, Proxy(embedded_postgres()) as second:
        close_all()
        where.update(HOST=f"{first.host},{second.host}", PORT=f"{first.port},{second.port}")
        try:
            yield Ways(first, second, engines)
        finally:
            where.update(before)
            close_all()


def close_all() -> None:
    """Let everything connect again, the threads of ``db`` too, to where the settings say."""
    connection.close()
    typed(DatabaseWrapper, connection).close_pool()
    bridge._pool().shutdown()
    bridge._pool.cache_clear()
    ReservedWrapper.close_pools()


@pytest.fixture
def ways(engines: embedded.Engines, transactional_db: None) -> Iterator[Ways]:
    with _two_ways(engines) as ways:
        yield ways


def queue() -> list[tuple[Any, ...]]:
    """Procrastinate's jobs, for the message of a test that fails."""
    with connection.cursor() as cursor:
        cursor.execute("select id, task_name, status, worker_id, attempts from procrastinate_jobs")
        return list(cursor.fetchall())


class Seen:
    """What the worker has executed, and when last."""

    def __init__(self) -> None:
        self.at: dict[str, float] = collections.defaultdict(float)

    def __call__(self, call_next: Callable[[], Any], context: JobContext, worker: Any) -> Any:
        result = call_next()
        self.at[str(context.job.task_name).rpartition(".")[2]] = time.monotonic()
        return result

    async def all_since(self, moment: float) -> None:
        end = time.monotonic() + RECOVERY
        while missing := {name for name in PERIODIC if self.at[name] <= moment}:
            assert time.monotonic() < end, (missing, await db(queue))
            await asyncio.sleep(0.1)


@asynccontextmanager
async def working(*middleware: Any) -> AsyncIterator[Runs]:
    """A worker as ``runs.worker.worker`` makes it, without signals."""
    writer = JournalWriter(admission.FOLLOW_UP)
    async with asyncio.TaskGroup() as group:
        group.create_task(writer.run())
        runs, tidy = Runs(writer, ["default"]), chores.Chores(bool, middleware)
        heartbeat = Heartbeat(lambda: runs.id, runs.stop, chores=lambda: tidy.worker_id)
        heartbeat.start()
        running, tidying = group.create_task(runs.run()), group.create_task(tidy.run())
        try:
            async with asyncio.timeout(RECOVERY):
                while runs.id is None:
                    await asyncio.sleep(0.05)
            yield runs
        finally:
            runs.stop()
            tidy.stop()
            await running
            await tidying
            heartbeat.stop()
            await asyncio.to_thread(heartbeat.join, 10)
            writer.close()


@pytest.mark.parametrize("fault", [Ways.restart, Ways.kill, Ways.fail_over, Ways.swallow])
async def test_periodic_tasks_and_runs_go_on(
    ways: Ways,
    fault: Callable[[Ways], None],
    cast: Cast,
    register: Register,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Deferred every second here. Before, the deferrer kept its dead connection for good."""
    for periodic in app.periodic_registry.periodic_tasks.values():
        monkeypatch.setitem(periodic.__dict__, "cron", "* * * * * *")
    more = asyncio.Event()

    async def patient_agent(ctx: Any) -> AsyncIterator[str]:
        yield "before "
        await more.wait()
        yield "after"

    live = await db(lambda: start(cast.alice, register("patient", patient_agent)))
    outcome = Seen()
    async with working(outcome) as runs:
        await outcome.all_since(0.0)
        async with asyncio.timeout(RECOVERY):
            while not await db(lambda: [e for e in log_of(live) if e.get("delta") == "before "]):
                await asyncio.sleep(0.05)
        worker_id = runs.id
        began = time.monotonic()
        fault(ways)  # in this thread: PostgreSQL dies with the thread that started it
        more.set()
        queued = await again(lambda: start(cast.alice))
        async with asyncio.timeout(RECOVERY):
            for run in (live, queued):
                while (await again(lambda run=run: fresh(run))).ended_at is None:  # type: ignore[misc]
                    await asyncio.sleep(0.1)
        await outcome.all_since(time.monotonic())
        assert runs.id == worker_id, "it stayed the same worker"
        assert time.monotonic() - began < RECOVERY
    assert {(await db(fresh, run)).status for run in (live, queued)} == {"succeeded"}
    texts = [event["delta"] for event in await db(log_of, live) if "delta" in event]
    assert texts == ["before ", "after"]


async def again(step: Callable[[], Any]) -> Any:
    """What a client does who got a 503."""
    async with asyncio.timeout(RECOVERY):
        while True:
            try:
                return await db(step)
            except (OperationalError, InterfaceError):
                await asyncio.sleep(0.1)


async def test_a_lost_periodic_job_does_not_stop_the_others(
    ways: Ways, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same task is queued again meanwhile; the end of the first could not be stored."""
    monkeypatch.setattr(chores, "LOOK", 0.2)

    def lost_and_queued_again(worker_id: int | None) -> None:
        chore = ["runs.tasks.sweep_erased", jobs.QUEUE, "sweep", "sweep"]
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("delete from procrastinate_jobs")  # of earlier tests
            for status, owner in (("doing", worker_id), ("todo", None)):
                cursor.execute(
                    "insert into procrastinate_jobs"
                    " (task_name, queue_name, queueing_lock, lock, args, status, worker_id)"
                    """ values (%s, %s, %s, %s, '{"timestamp": 0}', %s, %s)""",
                    [*chore, status, owner],
                )

    for periodic in app.periodic_registry.periodic_tasks.values():
        monkeypatch.setitem(periodic.__dict__, "cron", "0 0 29 2 *")
    outcome = Seen()
    tidy = chores.Chores(bool, [outcome])
    tidying = asyncio.create_task(tidy.run())
    async with asyncio.timeout(RECOVERY):
        while tidy.worker_id is None:
            await asyncio.sleep(0.05)
        await db(lost_and_queued_again, tidy.worker_id)
        while not outcome.at["sweep_erased"]:
            await asyncio.sleep(0.05)
        while "runs.tasks.sweep_erased" in {name for _, name, *_ in await db(queue)}:
            await asyncio.sleep(0.05)
    tidy.stop()
    await asyncio.wait_for(tidying, RECOVERY)
