"""The run's job in Procrastinate, changed in the caller's transaction, and that of its outline.

``agui_admit`` makes a run's job (``admission.py``); the highest priority goes first.
"""

from uuid import UUID

from django.db import connection
from procrastinate.contrib.django import app
from procrastinate.jobs import Status as JobStatus

from agui_host.runtimes.models import DEFAULT_QUEUE
from events import outlines
from runs.models import Run

QUEUE = "runs"
"""Procrastinate's queue of the host's own tasks, and of the runs of agents in the default queue."""
TASK = "runs.tasks.execute_run"
OUTLINE = "runs.tasks.store_outline"
LAST, LEVELS = -(2**31), 1_000_000
"""The lowest priority, and how many of the lowest are for outlines: no run waits after them."""
MOST_OUTLINES = 50
"""Outlines that wait, one after the other: each fetch of jobs looks at them all."""
# A team is told apart from the others by the run of each job; other teams' runs cannot be read.
OUTLINES = """
select waiting.priority, exists (
           select from runs_run other join runs_run this on this.team_id = other.team_id
            where other.journal_id = (waiting.args->>'journal_id')::uuid
              and this.journal_id = %(run)s)
  from (select priority, args from procrastinate_jobs
         where status = 'todo' and priority <= %(first)s
         order by priority desc, id limit %(most)s) waiting
"""


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

    The teams take turns: each further outline of a team waits a level lower, so the first one of
    another team overtakes it. A team has room for another one only while more places are free than
    it holds. Without room the first reader of the run stores its outline.
    """
    if events < outlines.WORTH_STORING:
        return
    first = LAST + LEVELS
    with connection.cursor() as cursor:
        cursor.execute(OUTLINES, {"run": run_id, "first": first, "most": MOST_OUTLINES})
        waiting = cursor.fetchall()
    own = [priority for priority, is_own in waiting if is_own]
    if MOST_OUTLINES - len(waiting) <= len(own):
        return
    served = max((priority for priority, _ in waiting), default=first)
    level = min(served, min(own, default=served + 1) - 1)
    job = app.configure_task(OUTLINE, queue=QUEUE, lock=OUTLINE, priority=max(LAST, level))
    job.defer(journal_id=str(run_id))
