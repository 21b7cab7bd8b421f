"""The run's job in Procrastinate, changed in the caller's transaction."""

from uuid import UUID

from django.db import connection
from procrastinate.contrib.django import app
from procrastinate.jobs import Status as JobStatus

from runs.models import Run

QUEUE = "runs"
TASK = "runs.tasks.execute_run"


def defer(run_id: UUID, thread_id: UUID, priority: int) -> int:
    """Enqueue an admitted run; the job's id. The highest priority goes first."""
    task = app.configure_task(TASK, queue=QUEUE, lock=str(thread_id), priority=priority)
    return task.defer(run_id=str(run_id))


def cancel(run: Run) -> None:
    """Take a job that has not begun out of the queue."""
    if run.job_id is not None:
        app.job_manager.cancel_job_by_id(run.job_id, delete_job=True)


def abort(run: Run) -> None:
    """Tell the worker that runs this job to stop."""
    if run.job_id is not None:
        app.job_manager.cancel_job_by_id(run.job_id, abort=True)


def fail(run: Run) -> None:
    """End a job whose worker is gone: a pruned worker's job stays 'doing' and keeps the lock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select procrastinate_finish_job_v1(id, %s, true) from procrastinate_jobs"
            " where id = %s and status = 'doing'",
            [JobStatus.FAILED.value, run.job_id],
        )
        cursor.fetchall()
