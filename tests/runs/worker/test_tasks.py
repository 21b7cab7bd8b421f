"""What a fault costs a periodic task: a minute, whatever its rhythm; who stores an outline."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob
from procrastinate.jobs import Job

from agui_host.backends.postgres.bridge import db
from events import journal, outlines
from events.journal import Batch
from events.models import OutlinePage
from events.writer import JournalWriter
from runs.lifecycle import jobs, lifecycle
from runs.models import Run
from runs.worker import tasks
from runs.worker.executor import Stop, execute
from tests.cast import Cast, Register, fresh, start
from tests.events.records import deltas, record

EVERY_MINUTE = "* * * * *"
WORDS = 100


def rare() -> list[str]:
    registered = app.periodic_registry.periodic_tasks.values()
    return sorted(each.task.name for each in registered if not each.cron.startswith(EVERY_MINUTE))


def test_the_rare_tasks_are_known() -> None:
    assert tasks.purge_what_is_over.name in rare()


@pytest.mark.parametrize("attempts", [0, 10])
def test_a_rare_task_that_met_a_fault_is_tried_again_within_a_minute(attempts: int) -> None:
    for name in rare():
        job = Job(
            id=1, queue="runs", lock=None, queueing_lock=None, task_name=name, attempts=attempts
        )
        again = app.tasks[name].get_retry_exception(
            exception=OperationalError("No space left on device"), job=job
        )
        assert again is not None, name
        due = again.retry_decision.retry_at
        assert due is not None, name
        assert (due - datetime.now(UTC)).total_seconds() <= 60, name


@pytest.mark.django_db
def test_sessions_that_have_expired_are_dropped() -> None:
    now = datetime.now(UTC)
    for key, ends in (("over", now - timedelta(seconds=1)), ("valid", now + timedelta(days=1))):
        Session.objects.create(session_key=key, session_data="", expire_date=ends)
    tasks.drop_expired_sessions(0)
    assert list(Session.objects.values_list("session_key", flat=True)) == ["valid"]


def waiting() -> list[str]:
    """The runs whose outlines wait to be stored."""
    rows = ProcrastinateJob.objects.filter(task_name=jobs.OUTLINE).order_by("pk")
    return [row.args["journal_id"] for row in rows]


@pytest.mark.django_db(transaction=True)
class TestOutlines:
    @pytest.fixture(autouse=True)
    def short(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A hundred events are a long run."""
        monkeypatch.setattr(outlines, "WORTH_STORING", WORDS)
        monkeypatch.setattr(outlines, "STEP_EVENTS", 50)
        ProcrastinateJob.objects.filter(task_name=jobs.OUTLINE).delete()

    async def ended(self, cast: Cast, register: Register, writer: JournalWriter, size: int) -> Run:
        """A run of so many pieces of text."""

        async def agent(ctx: Any) -> AsyncIterator[str]:
            for number in range(size):
                yield f"{number} "

        run = await db(lambda: start(cast.alice, register(f"says-{size}", agent)))
        claimed = await db(lifecycle.claim, run.pk, begins=True)
        assert claimed
        await execute(claimed, writer, lambda: Stop.CANCEL)
        return await db(fresh, run)

    async def test_a_worker_stores_that_of_a_long_run_after_its_end(
        self, cast: Cast, register: Register, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rests: list[float] = []

        async def rest(seconds: float) -> None:
            rests.append(seconds)

        await self.ended(cast, register, writer, 10)
        assert await db(waiting) == []
        run = await self.ended(cast, register, writer, WORDS)
        assert await db(waiting) == [str(run.pk)]
        assert not await db(OutlinePage.objects.exists)
        monkeypatch.setattr(tasks, "asyncio", SimpleNamespace(sleep=rest))
        context: Any = SimpleNamespace(additional_context={tasks.LEAVING: lambda: False})
        await tasks.store_outline(context, str(run.pk))
        assert (await db(outlines._stored, run.pk))["seq"] == run.journal.head
        assert len(rests) >= WORDS // 50
        assert min(rests) > 0, "it rests between steps"

    async def test_a_worker_that_is_told_to_stop_leaves_the_rest_to_another(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        run = await self.ended(cast, register, writer, WORDS)
        await db(ProcrastinateJob.objects.all().delete)
        context: Any = SimpleNamespace(additional_context={tasks.LEAVING: lambda: True})
        await asyncio.wait_for(tasks.store_outline(context, str(run.pk)), 10)
        assert await db(waiting) == [str(run.pk)]

    async def test_a_database_that_is_away_keeps_no_run_from_ending(
        self, cast: Cast, register: Register, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away(*args: object) -> None:
            raise OperationalError("the server closed the connection")

        monkeypatch.setattr(jobs, "store_outline", away)
        run = await self.ended(cast, register, writer, WORDS)
        assert run.status == "succeeded"

    def test_also_of_one_that_ends_without_its_worker(self, cast: Cast) -> None:
        for long in (False, True):
            run = start(cast.alice)
            claimed = lifecycle.claim(run.pk)
            assert claimed
            events = [record("RUN_STARTED", threadId="t", runId="r"), *deltas(WORDS * long)]
            journal.append([Batch(run.pk, claimed.claim.generation, 1, events)])
            assert lifecycle.end_lost(run)
            assert waiting() == [str(run.pk)] * long

    def test_only_so_many_wait(self, cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
        """A team leaves room for another: a third waits only while more than two are free."""
        monkeypatch.setattr(jobs, "MOST_OUTLINES", 4)
        runs = [start(cast.alice).pk for _ in range(3)]
        others = [start(cast.charlie).pk for _ in range(2)]
        for run in [*runs, *others]:
            jobs.store_outline(run, WORDS)
        assert waiting() == [str(run) for run in [*runs[:2], others[0]]]

    def test_hundreds_of_one_team_hold_up_no_other(self, cast: Cast) -> None:
        """That of another team is next, or the one after it; and each team has its turn."""
        own = [start(cast.alice).pk for _ in range(8)]
        others = [start(cast.charlie).pk for _ in range(2)]
        ProcrastinateJob.objects.exclude(task_name=jobs.OUTLINE).delete()
        for run in own * 40:
            jobs.store_outline(run, WORDS)
        assert len(waiting()) == jobs.MOST_OUTLINES // 2
        order = [fetched() for _ in range(3)]
        for run in others:
            jobs.store_outline(run, WORDS)
        order += [fetched() for _ in range(4)]
        assert [UUID(run) in others for run in order] == [*[False] * 4, True, False, True]
        jobs.store_outline(others[0], WORDS)
        assert str(others[0]) in [fetched(), fetched()]


def fetched() -> str:
    """The run of the outline that a worker would store next; it is done."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select id, task_name, args->>'journal_id' from procrastinate_fetch_job_v2(%s, null)",
            [[jobs.QUEUE]],
        )
        ((job, task, run),) = cursor.fetchall()
        cursor.execute("delete from procrastinate_jobs where id = %s", [job])
    assert task == jobs.OUTLINE
    return str(run)
