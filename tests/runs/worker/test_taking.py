"""A worker ends jobs, fetches others and claims their runs in one message, and loses none."""

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import psycopg
import pytest
from django.db import connection
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob
from procrastinate.jobs import Job, Status

from agui_host.backends.postgres.base import queue_parameters
from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.models import Agent
from events.models import Journal
from events.writer import JournalWriter
from runs.lifecycle import jobs, lifecycle
from runs.lifecycle.statements import claims
from runs.models import Run
from runs.worker import taking
from runs.worker.executor import Stop, execute
from runs.worker.resilience import PatientConnector
from runs.worker.taking import Taking
from tests.cast import Cast, Register, fresh, start, types_of
from tests.runs.jobs import job_of

pytestmark = pytest.mark.django_db(transaction=True)

FREE = 3


class Worker:
    """The part of a worker that fetches, with room for ``FREE`` jobs."""

    def __init__(self, taking: Taking, number: int) -> None:
        self.taking, self.number = taking, number

    async def fetch(self) -> Job | None:
        self.taking.look_again()
        return await self.taking.fetch_job([jobs.QUEUE], self.number)


def registered() -> int:
    """A worker's number, with an empty queue."""
    with connection.cursor() as cursor:
        cursor.execute("delete from procrastinate_jobs")  # of earlier tests
        cursor.execute("insert into procrastinate_workers default values returning id")
        number: int = cursor.fetchone()[0]
        return number


@pytest.fixture
async def worker(cast: Cast) -> AsyncIterator[Worker]:
    own = app.with_connector(PatientConnector(**queue_parameters()))
    async with own.open_async():
        taking = Taking(own.connector, free=lambda: FREE, wakeups=lambda: 0)
        yield Worker(taking, await db(registered))


def statuses(runs: list[Run]) -> list[tuple[str, str]]:
    """Of each run and its job."""
    pairs = [(fresh(run), job_of(run)) for run in runs]
    return [(str(run.status), job.status if job else "") for run, job in pairs]


async def test_nothing_is_fetched_while_no_run_has_room(
    cast: Cast, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await db(start, cast.alice)
    monkeypatch.setattr("tests.runs.worker.test_taking.FREE", 0)
    assert await worker.fetch() is None
    assert await db(statuses, [run]) == [("queued", "todo")]
    monkeypatch.setattr("tests.runs.worker.test_taking.FREE", 1)
    assert await worker.fetch() is not None


async def test_a_fetch_takes_as_many_as_there_is_room_for(
    cast: Cast, worker: Worker, writer: JournalWriter
) -> None:
    runs = [await db(start, cast.alice) for _ in range(FREE + 1)]
    first = await worker.fetch()
    assert first is not None
    claimed = [("running", "doing")] * FREE
    assert await db(statuses, runs) == [*claimed, ("queued", "todo")]
    job: Job | None = first
    for run in runs:
        assert job is not None
        assert job.task_kwargs == {"run_id": str(run.pk)}
        claim = worker.taking.claims.pop(job.id or 0)
        await execute(claim, writer, lambda: Stop.CANCEL)
        await worker.taking.finish_job(job, Status.SUCCEEDED, True)
        job = await worker.fetch()
    assert job is None, "an end goes along with the next fetch"
    assert await db(statuses, runs) == [("succeeded", "")] * len(runs)
    assert worker.taking.ended == set()
    assert first.id is not None
    assert not worker.taking.is_news(first.id), "its end wakes other workers only"
    assert worker.taking.is_news(first.id)


async def test_a_backlog_rests_while_runs_of_several_teams_are_there(
    cast: Cast, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One job a fetch, and a pause behind each; as before once a team is alone again."""
    monkeypatch.setattr(taking, "REST", 0.2)
    ours, theirs, *more = [
        await db(start, actor) for actor in (cast.alice, cast.charlie, *[cast.alice] * 4)
    ]
    began = time.monotonic()
    first = await worker.fetch()
    assert first is not None
    assert first.id == ours.job_id
    handed_out = [await worker.taking.fetch_job([jobs.QUEUE], worker.number) for _ in "23"]
    assert [job and job.id for job in handed_out] == [theirs.job_id, more[0].job_id]
    for _ in range(2):
        assert await worker.fetch() is not None
    assert time.monotonic() - began >= 2 * 0.2
    assert await db(statuses, more[3:]) == [("queued", "todo")]
    await worker.taking.finish_job(handed_out[0], Status.SUCCEEDED, True)
    monkeypatch.setattr(taking, "REST", 60.0)
    assert await worker.fetch() is not None


async def test_jobs_that_nobody_began_are_claimed_again(
    cast: Cast, worker: Worker, writer: JournalWriter
) -> None:
    """Its worker was told to stop, or never heard the answer; the run's log is empty still."""
    run = await db(start, cast.alice)
    assert await worker.fetch() is not None
    (earlier,) = worker.taking.claims.values()
    assert await db(statuses, [run]) == [("running", "doing")]
    await worker.taking.retry_job_by_id_async(run.job_id, datetime.now(UTC))
    assert await worker.fetch() is not None
    (claimed,) = worker.taking.claims.values()
    assert claimed.claim.generation == earlier.claim.generation + 1, "the fence knows only this one"
    await execute(claimed, writer, lambda: Stop.CANCEL)
    types = await db(types_of, run)
    assert types.count("RUN_STARTED") == types.count("RUN_FINISHED") == 1


async def test_what_is_not_handed_out_is_given_back(cast: Cast, worker: Worker) -> None:
    runs = [await db(start, cast.alice) for _ in range(FREE)]
    assert await worker.fetch() is not None
    assert list(worker.taking.left()) == [run.job_id for run in runs[1:]]
    assert list(worker.taking.claims) == [runs[0].job_id]


async def test_other_runs_are_claimed_by_their_executors(
    cast: Cast, worker: Worker, register: Register
) -> None:
    """In a thread with a history, fed from elsewhere, begun already, or locked at this moment."""
    await db(lambda: lifecycle.cancel(start(cast.alice, threadId="t")))
    with_history = await db(partial(start, cast.alice, threadId="t"))
    fed = await db(start, cast.alice, await db(register, "fed", "", kind="external"))
    locked = await db(start, cast.alice)
    keys = ("host", "user", "dbname", "password", "port")
    params = {key: it for key, it in connection.get_connection_params().items() if key in keys}
    with psycopg.connect(**params) as other:
        other.execute("select from events_journal where id = %s for update", [locked.pk])
        assert await worker.fetch() is not None
    runs = [with_history, fed, locked]
    assert await db(statuses, runs) == [("queued", "doing")] * 3
    begun = await db(start, cast.alice)
    assert await db(lifecycle.claim, begun.pk, begins=True)
    list(worker.taking.left())
    assert await worker.fetch() is not None
    assert worker.taking.claims == {}
    assert (await db(Journal.objects.get, pk=begun.pk)).writer == 1


@pytest.mark.parametrize("kind", kinds.KINDS)
async def test_the_database_and_the_table_of_kinds_agree_on_who_is_fed(
    cast: Cast, worker: Worker, kind: str
) -> None:
    settings = {"argv": ["cli"]} if kind == "process" else {}
    fields = {"team": cast.team, "slug": "a", "name": "A", "kind": kind, "settings": settings}
    agent = await db(partial(Agent.objects.create, **fields))
    run = await db(start, cast.alice, agent)
    assert await worker.fetch() is not None
    assert (run.job_id in worker.taking.claims) == (not kinds.of(kind).fed)


async def test_a_worker_that_stops_ends_its_jobs_by_itself(cast: Cast, worker: Worker) -> None:
    await db(start, cast.alice)
    job = await worker.fetch()
    assert job is not None
    await worker.taking.finish_job(job, Status.SUCCEEDED, True)
    assert await db(ProcrastinateJob.objects.filter(pk=job.id).exists)
    await worker.taking.flush()
    assert not await db(ProcrastinateJob.objects.filter(pk=job.id).exists)


async def test_a_run_that_cannot_be_read_keeps_no_other_from_its_worker(
    cast: Cast, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, other = [await db(start, cast.alice) for _ in range(2)]
    real = claims.of_fresh_thread

    def reads(row: dict[str, Any], *args: Any) -> Any:
        if row["run"] == broken.pk:
            raise ValueError("broken")
        return real(row, *args)

    monkeypatch.setattr(claims, "of_fresh_thread", reads)
    for run in (broken, other):
        job = await worker.fetch()
        assert job is not None
        assert job.id == run.job_id
    assert list(worker.taking.claims) == [other.job_id]
