"""Workers of the previous release know runs by jobs of Procrastinate.

They are registered in Procrastinate only. A job stays theirs while no worker of this release is
there; a run that is due gets a job if only they could execute it.
"""

from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from procrastinate.contrib.django.models import ProcrastinateJob

from agui_host.backends.postgres import scope
from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.models import Agent
from runs.lifecycle import admission, jobs
from runs.models import Run
from runs.worker import reaper, tasks
from tests.cast import Cast, fresh, start
from tests.runs.jobs import a_worker, gone, taken_by

pytestmark = pytest.mark.django_db(transaction=True)


def old_worker() -> int:
    """A live worker of the previous release."""
    with connection.cursor() as cursor:
        cursor.execute("insert into procrastinate_workers default values returning id")
        return int(cursor.fetchone()[0])


def fetched(job: int | None, worker: int) -> None:
    """An old worker has fetched this job."""
    with connection.cursor() as cursor:
        cursor.execute(
            "update procrastinate_jobs set status = 'doing', worker_id = %s where id = %s",
            [worker, job],
        )


def has_job(run: Run) -> bool:
    row = fresh(run)
    return (
        row.due_at is None
        and ProcrastinateJob.objects.filter(pk=row.job_id, status="todo").exists()
    )


def test_a_web_process_of_this_release_leaves_their_jobs_to_them(cast: Cast) -> None:
    old_worker()
    run = start(cast.alice)
    assert reaper.run_once() == []
    assert has_job(run)


def test_a_worker_of_this_release_takes_the_runs_of_its_queue_only(cast: Cast) -> None:
    old_worker()
    fields = {"slug": "gpu", "name": "G", "target": cast.echo.target, "queue": "gpu"}
    gpu = Agent.objects.create(team=cast.team, **fields)
    usual, other = start(cast.alice), start(cast.bob, gpu)
    worker = a_worker("gpu")
    reaper.run_once()
    assert taken_by(worker, "gpu") == [other]
    assert has_job(usual)


def test_a_start_in_its_team_sees_the_workers_of_this_release(cast: Cast) -> None:
    """Rows of workers belong to no team."""
    a_worker()
    old_worker()
    with scope.limited(cast.team.pk):
        run = start(cast.alice)
    assert (fresh(run).job_id, fresh(run).due_at is None) == (None, False)


async def test_a_job_that_this_release_fetches_makes_its_run_due(cast: Cast) -> None:
    """It was made at the moment in which the first new worker came."""
    await db(old_worker)
    run = await db(lambda: fresh(start(cast.alice)))
    context: Any = SimpleNamespace(job=SimpleNamespace(id=run.job_id))
    worker = await db(a_worker)
    for _ in range(2):
        await tasks.execute_run(context, run_id=str(run.pk))
    assert await db(taken_by, worker) == [run]
    await tasks.execute_run(context, run_id=str(run.pk))
    assert await db(taken_by, worker) == []


class TestRollback:
    def test_due_runs_get_jobs(self, cast: Cast) -> None:
        new = a_worker()
        runs = [start(cast.alice), start(cast.charlie)]
        admission.sweep()
        assert [fresh(run).job_id for run in runs] == [None, None]
        old_worker()
        admission.sweep()
        assert [fresh(run).job_id for run in runs] == [None, None], "a worker of this release lives"
        gone(new)
        admission.sweep()
        assert [has_job(run) for run in runs] == [True, True]

    def test_they_are_in_the_order_of_before(self, cast: Cast) -> None:
        runs = [start(cast.alice) for _ in range(3)]
        old_worker()
        admission.sweep()
        rows = ProcrastinateJob.objects.filter(pk__in=[fresh(run).job_id for run in runs])
        order = rows.order_by("-priority").values_list("args__run_id", flat=True)
        assert list(order) == [str(run.pk) for run in runs]

    def test_a_run_with_a_job_is_not_taken_here(self, cast: Cast) -> None:
        """A process of the previous release has handed it on, and knows no ``due_at``."""
        run = start(cast.alice)
        Run.objects.filter(pk=run.pk).update(job_id=2**40)
        assert taken_by(a_worker()) == []

    def test_a_job_counts_more_than_the_worker_of_before(self, cast: Cast) -> None:
        new = a_worker()
        run = start(cast.alice)
        assert taken_by(new) == [run]
        old = old_worker()
        with connection.cursor() as cursor:
            cursor.execute(
                "insert into procrastinate_jobs (task_name, queue_name, args)"
                " values (%s, 'runs', '{}') returning id",
                [jobs.TASK],
            )
            (job,) = cursor.fetchone()
        Run.objects.filter(pk=run.pk).update(job_id=job)
        fetched(job, old)
        gone(new)
        assert reaper.run_once() == []
        with connection.cursor() as cursor:
            cursor.execute(
                "update procrastinate_workers set last_heartbeat = now() - %s * interval '1 s'",
                [settings.AGUI_WORKER_LOST_AFTER + 1],
            )
        assert reaper.run_once() == [run.pk]
