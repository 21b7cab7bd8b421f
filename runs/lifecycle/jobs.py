"""The run's job in Procrastinate, changed in the caller's transaction, and that of its outline.

``agui_admit`` makes a run's job (``admission.py``); the highest priority goes first.
"""

from uuid import UUID

from django.db import connection
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob
from procrastinate.jobs import Status as JobStatus

from events import outlines
from runs.models import Run
from runtimes.models import DEFAULT_QUEUE

QUEUE = "runs"
"""Procrastinate's queue of the host's own tasks, and of the runs of agents in the default queue."""
TASK = "runs.tasks.execute_run"
OUTLINE = "runs.tasks.store_outline"
LAST = -(2**31)
"""The priority of outlines: no run waits behind them."""
MOST_OUTLINES = 50
"""Outlines that wait, one behind the other: each fetch of jobs looks at them all."""


def queue_of(name: str) -> str:
    """Procrastinate's queue for the runs of agents in queue ``name``, as in ``agui_admit``."""
    return QUEUE if name == DEFAULT_QUEUE else f"{QUEUE}:{name}"


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


def store_outline(run_id: UUID, events: int) -> None:
    """Let a worker store the outline of a run that ended with so many events, if it is long.

    If many wait already, the first reader of the run stores it.
    """
    if events < outlines.WORTH_STORING:
        return
    waiting = ProcrastinateJob.objects.filter(priority=LAST, status=JobStatus.TODO.value)
    if len(waiting.values("pk")[:MOST_OUTLINES]) < MOST_OUTLINES:
        job = app.configure_task(OUTLINE, queue=QUEUE, lock=OUTLINE, priority=LAST)
        job.defer(journal_id=str(run_id))
