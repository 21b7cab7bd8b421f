"""A worker takes runs and claims them in one message, loses none, and leaves none behind."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from runs.lifecycle import lifecycle
from runs.lifecycle.statements import claims
from runs.lifecycle.words import storing
from runs.models import Run, Worker
from runs.worker import chores, tasks
from runs.worker.chores import Chores
from runs.worker.executor import Stop, execute
from runs.worker.taking import loop, take
from runs.worker.taking.loop import Runs
from tests.cast import Cast, Register, fresh, start, types_of
from tests.runs.jobs import a_worker, give, gone

pytestmark = pytest.mark.django_db(transaction=True)

NEVER = 600.0


async def taken(worker: int, most: int = 9) -> list[take.Taken]:
    return await db(take.take, worker, ["default"], most)


async def until_ended(*runs: Run) -> list[Run]:
    async with asyncio.timeout(30):
        while True:
            rows = [await db(fresh, run) for run in runs]
            if all(row.ended_at for row in rows):
                return rows
            await asyncio.sleep(0.02)


async def until_here(runs: Runs, *rows: Run) -> None:
    """Until the worker executes these runs, and no others."""
    async with asyncio.timeout(30):
        while runs.here != {run.pk for run in rows}:
            await asyncio.sleep(0.01)


@asynccontextmanager
async def working(writer: JournalWriter, **options: Any) -> AsyncIterator[Runs]:
    """The runs of a worker, as ``runs.worker.worker`` has them."""
    runs = Runs(writer, ["default"], **options)
    task = asyncio.create_task(runs.run())
    try:
        async with asyncio.timeout(30):
            while runs.id is None:
                await asyncio.sleep(0.01)
        yield runs
    finally:
        runs.stop()
        await asyncio.wait_for(task, 30)


def waiting_agent(register: Register) -> tuple[Agent, asyncio.Event]:
    more = asyncio.Event()

    async def patient(ctx: Any) -> AsyncIterator[str]:
        yield "before "
        await more.wait()
        yield "after"

    return register("patient", patient), more


class TestOneTake:
    async def test_it_takes_the_lowest_stamps_and_not_more_than_asked(self, cast: Cast) -> None:
        worker = await db(a_worker)
        runs = [await db(start, cast.alice) for _ in range(4)]
        assert [run.run for run in await taken(worker, 3)] == [run.pk for run in runs[:3]]
        rows = [await db(fresh, run) for run in runs]
        assert [(row.status, row.worker, row.due_at is None) for row in rows] == [
            *[("running", worker, True)] * 3, ("queued", None, False)
        ]  # fmt: skip

    async def test_a_team_that_was_idle_is_not_ahead_of_those_who_worked(self, cast: Cast) -> None:
        """Virtual time is that of the newest run that was taken."""
        runs = [await db(start, cast.alice) for _ in range(4)]
        assert len(await taken(await db(a_worker))) == 4
        newcomer = await db(start, cast.charlie)
        assert (await db(fresh, newcomer)).stamp >= (await db(fresh, runs[-1])).stamp

    async def test_two_workers_take_no_run_twice(self, cast: Cast) -> None:
        workers = [await db(a_worker) for _ in range(2)]
        runs = {(await db(start, cast.alice)).pk for _ in range(12)}
        takes = await asyncio.gather(*(taken(workers[n % 2], 2) for n in range(8)))
        ids = [run.run for each in takes for run in each]
        assert len(ids) == len(set(ids))
        ids += [run.run for run in await taken(workers[0], 12)]
        assert (len(ids), set(ids)) == (12, runs)

    async def test_a_worker_that_was_given_up_takes_nothing(self, cast: Cast) -> None:
        worker = await db(a_worker)
        await db(start, cast.alice)
        await db(gone, worker)
        assert await taken(worker) == []

    async def test_other_runs_are_claimed_by_their_executors(
        self, cast: Cast, register: Register
    ) -> None:
        """In a thread with a history, fed from elsewhere, or locked at this moment."""
        worker = await db(a_worker)
        await db(lambda: lifecycle.cancel(start(cast.alice, threadId="t")))
        with_history = await db(partial(start, cast.alice, threadId="t"))
        fed = await db(start, cast.alice, await db(register, "fed", "", kind="external"))
        locked = await db(start, cast.alice)
        keys = ("host", "user", "dbname", "password", "port")
        params = {key: it for key, it in connection.get_connection_params().items() if key in keys}
        with psycopg.connect(**params) as other:
            other.execute("select from events_journal where id = %s for update", [locked.pk])
            takes = await taken(worker)
        runs = [with_history, fed, locked]
        assert [(run.run, run.claimed) for run in takes] == [(run.pk, None) for run in runs]
        rows = [await db(fresh, run) for run in runs]
        assert [(row.status, row.worker) for row in rows] == [("queued", worker)] * 3
        assert await taken(await db(a_worker)) == []

    @pytest.mark.parametrize("kind", kinds.KINDS)
    async def test_the_database_and_the_table_of_kinds_agree_on_who_is_fed(
        self, cast: Cast, kind: str
    ) -> None:
        settings = {"argv": ["cli"]} if kind == "process" else {}
        fields = {"team": cast.team, "slug": "a", "name": "A", "kind": kind, "settings": settings}
        agent = await db(partial(Agent.objects.create, **fields))
        await db(start, cast.alice, agent)
        (run,) = await taken(await db(a_worker))
        assert (run.claimed is not None) == (not kinds.of(kind).fed)

    async def test_a_run_that_cannot_be_read_keeps_no_other_from_its_worker(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        broken, other = [await db(start, cast.alice) for _ in range(2)]
        real = claims.of_fresh_thread

        def reads(row: dict[str, Any], *args: Any) -> Any:
            if row["run"] == broken.pk:
                raise ValueError("broken")
            return real(row, *args)

        monkeypatch.setattr(claims, "of_fresh_thread", reads)
        claimed = {run.run: run.claimed for run in await taken(await db(a_worker))}
        assert claimed[broken.pk] is None
        assert claimed[other.pk] is not None


class TestTheLoop:
    async def test_runs_that_nobody_began_are_claimed_again(
        self, cast: Cast, writer: JournalWriter
    ) -> None:
        """The worker never heard the answer; the run's log is empty still."""
        run = await db(start, cast.alice)
        worker = await db(a_worker)
        ((*_, earlier),) = await taken(worker)
        assert earlier is not None
        assert await db(take.put_back, worker, 1, [], []) == [run.pk]
        ((*_, claimed),) = await taken(worker)
        assert claimed is not None
        assert claimed.claim.generation == earlier.claim.generation + 1, "the fence knows only it"
        await execute(claimed, writer, lambda: Stop.CANCEL)
        types = await db(types_of, run)
        assert types.count("RUN_STARTED") == types.count("RUN_FINISHED") == 1

    async def test_a_take_whose_answer_was_lost(
        self, cast: Cast, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(loop, "LOOK", 0.1)
        async with working(writer) as runs:
            worker = runs.id

            def started_and_taken() -> Run:
                run = start(cast.alice)
                give(run, worker)
                return run

            (run,) = await until_ended(await db(started_and_taken))
        assert run.status == "succeeded"

    async def test_no_run_waits_for_the_poll(
        self, cast: Cast, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each run of a thread waits for the end of the one before."""
        monkeypatch.setattr(loop, "POLL", NEVER)

        def queue() -> list[Run]:
            return [
                start(cast.alice, threadId="one", runId=f"r{n}", onBusy="enqueue")
                for n in range(20)
            ]

        async with working(writer, concurrency=4):
            rows = await until_ended(*await db(queue))
        assert {row.status for row in rows} == {"succeeded"}

    async def test_one_worker_is_woken_for_a_run(
        self, cast: Cast, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(loop, "POLL", NEVER)
        takes = 0
        real = take.take

        def counted(*args: Any) -> list[take.Taken]:
            nonlocal takes
            takes += 1
            return real(*args)

        monkeypatch.setattr(take, "take", counted)
        async with working(writer), working(writer), working(writer):
            for _ in range(10):
                await until_ended(await db(start, cast.alice))
        assert 10 <= takes <= 10 + 2 * 3, "at its start and when it listens a worker looks as well"

    @pytest.mark.parametrize("change", [{"free": 0}, {"draining": True}])
    async def test_a_worker_without_free_places_is_not_woken_alone(
        self,
        cast: Cast,
        writer: JournalWriter,
        monkeypatch: pytest.MonkeyPatch,
        change: dict[str, Any],
    ) -> None:
        monkeypatch.setattr(loop, "POLL", NEVER)
        await db(a_worker)
        await db(partial(Worker.objects.update, **change))
        async with working(writer):
            rows = await until_ended(*[await db(start, cast.alice) for _ in range(8)])
            assert {row.status for row in rows} == {"succeeded"}
            await db(partial(Worker.objects.update, free=0))  # then all of them are woken
            rows = await until_ended(await db(start, cast.alice))
        assert {row.status for row in rows} == {"succeeded"}

    async def test_no_cancel_waits_for_the_poll(
        self,
        cast: Cast,
        register: Register,
        writer: JournalWriter,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(loop, "CANCEL_POLL", NEVER)
        agent, _ = await db(waiting_agent, register)
        async with working(writer) as runs:
            run = await db(start, cast.alice, agent)
            await until_here(runs, run)
            async with asyncio.timeout(30):
                while "TEXT_MESSAGE_CONTENT" not in await db(types_of, run):
                    await asyncio.sleep(0.01)
            await db(lambda: lifecycle.cancel(fresh(run)))
            (ended,) = await until_ended(run)
        assert ended.status == "cancelled"

    async def test_a_full_worker_takes_no_more_until_a_run_has_ended(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        agent, more = await db(waiting_agent, register)
        async with working(writer, concurrency=1) as runs:
            first = await db(start, cast.alice, agent)
            second = await db(start, cast.alice)
            await until_here(runs, first)
            assert (runs.free, (await db(fresh, second)).worker) == (0, None)
            more.set()
            rows = await until_ended(first, second)
        assert {row.status for row in rows} == {"succeeded"}

    async def test_a_run_whose_executor_failed_is_given_up(
        self, cast: Cast, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fails(*args: Any, **options: Any) -> None:
            raise RuntimeError("a fault of ours")

        monkeypatch.setattr(loop, "execute", fails)
        async with working(writer):
            run = await db(start, cast.alice)
            async with asyncio.timeout(30):
                while (row := await db(fresh, run)).status == "queued" or row.worker is not None:
                    await asyncio.sleep(0.02)
        assert (row.due_at, row.ended_at) == (None, None), "the reaper ends it"

    async def test_a_worker_that_leaves_has_no_row(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        """Its runs end first."""
        agent, more = await db(waiting_agent, register)
        async with working(writer) as runs:
            run = await db(start, cast.alice, agent)
            await until_here(runs, run)
            assert await db(Worker.objects.filter(queues=["default"]).count) == 1
            runs.stop()
            later = await db(start, cast.alice)
            more.set()
        assert (await db(fresh, run)).status == "succeeded"
        assert (await db(fresh, later)).worker is None
        assert not await db(Worker.objects.exists)

    async def test_a_worker_leaves_after_a_take_that_is_under_way(self, cast: Cast) -> None:
        """Its answer was lost, or came too late."""
        worker, run = await db(a_worker), await db(start, cast.alice)
        holding, may_commit = threading.Event(), threading.Event()

        def take_slowly() -> None:
            with transaction.atomic():
                assert [it.run for it in take.take(worker, ["default"], 1)] == [run.pk]
                holding.set()
                assert may_commit.wait(30)

        def a_lock_is_awaited() -> bool:
            with connection.cursor() as cursor:
                cursor.execute("select exists (select from pg_locks where not granted)")
                return bool(cursor.fetchone()[0])

        slow = asyncio.create_task(db(take_slowly))
        assert await asyncio.to_thread(holding.wait, 30)
        leaving = asyncio.create_task(db(take.leave, worker, []))
        async with asyncio.timeout(30):
            while not await db(a_lock_is_awaited):
                await asyncio.sleep(0.01)
        may_commit.set()
        assert await leaving == [run.pk]
        await slow
        assert not await db(Worker.objects.exists)
        assert [it.run for it in await taken(await db(a_worker))] == [run.pk]

    async def test_a_backlog_rests_while_runs_of_several_teams_are_there(
        self,
        cast: Cast,
        register: Register,
        writer: JournalWriter,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """One run a take, and a pause after each."""
        monkeypatch.setattr(loop, "REST", 0.2)
        agent, more = await db(waiting_agent, register)
        first = [await db(start, cast.alice, agent)]
        first += [await db(start, cast.charlie, await db(patient_of, cast, agent))]
        async with working(writer) as runs:
            try:
                await until_here(runs, *first)
                began = time.monotonic()
                await until_ended(*[await db(start, cast.alice) for _ in range(4)])
                assert time.monotonic() - began >= 3 * 0.2
            finally:
                more.set()
            await until_ended(*first)


def patient_of(cast: Cast, agent: Agent) -> Agent:
    """The same agent for the other team."""
    fields = {"slug": agent.slug, "name": agent.name, "target": agent.target or agent.slug}
    return Agent.objects.create(team=cast.other_team, **fields)


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
    monkeypatch.setattr(chores, "registry_of", lambda app: app.periodic_registry.__class__())
    await db(tasks.store_words.defer, timestamp=0)
    tidy = Chores(bool)
    tidying = asyncio.create_task(tidy.run())
    try:
        async with working(writer, concurrency=1):
            assert await asyncio.to_thread(begun.wait, 30)
            await until_ended(await db(start, cast.alice))
    finally:
        may_end.set()
        tidy.stop()
        await asyncio.wait_for(tidying, 30)
