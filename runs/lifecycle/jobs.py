"""The jobs in Procrastinate: outlines of runs, and jobs for workers of the previous release.

A run is its own job (``Run.due_at``); only a worker of the previous release needs another, which
``agui_make_due`` makes for it. All of this is changed in the caller's transaction.
"""

from typing import Any
from uuid import UUID

from django.db import connection
from procrastinate.contrib.django import app
from procrastinate.jobs import Status as JobStatus

from agui_host.runtimes.models import DEFAULT_QUEUE
from events import outlines
from runs.models import IS_ACTIVE, Run

QUEUE = "runs"
"""Procrastinate's queue of the host's own tasks."""
TASK = "runs.tasks.execute_run"
OUTLINE = "runs.tasks.store_outline"
CHANNEL, CANCEL = "agui_runs", "cancel"
"""The channel that workers listen to. The payload for a run that became due is
``queue:<worker>:<name>``, without a worker for all of the queue."""
# Rows that another transaction has locked are left for the next call.
ADOPT = """
with waiting as (
    select job.id, run.journal_id, coalesce(job.scheduled_at, now()) as due,
           job.args ->> 'traceparent' as trace, -job.priority::bigint as stamp, agent.queue
      from procrastinate_jobs job
      join runs_run run on run.journal_id = (job.args ->> 'run_id')::uuid and run.job_id = job.id
      join runtimes_agent agent on agent.id = run.agent_id
     where job.task_name = %(task)s and job.status = 'todo' and not agui_needs_a_job(agent.queue)
       for update of run, job skip locked),
gone as (delete from procrastinate_jobs job using waiting where job.id = waiting.id)
update runs_run run
   set job_id = null, due_at = waiting.due, stamp = coalesce(run.stamp, waiting.stamp),
       traceparent = coalesce(run.traceparent, waiting.trace)
  from waiting where run.journal_id = waiting.journal_id
returning pg_notify(%(channel)s, 'queue::' || waiting.queue)
"""
PASS_ON = f"""
update runs_run run
   set job_id = null, due_at = now(), stamp = coalesce(run.stamp, 0),
       traceparent = coalesce(run.traceparent, %(trace)s)
  from runtimes_agent agent
 where run.journal_id = %(run)s and run.job_id = %(job)s and run.{IS_ACTIVE}
   and agent.id = run.agent_id
returning pg_notify(%(channel)s, 'queue::' || agent.queue)
"""  # noqa: S608
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
    """The queue of agents called ``name``, as the spans of its runs name it."""
    return QUEUE if name == DEFAULT_QUEUE else f"{QUEUE}:{name}"


def adopt() -> int:
    """Make the runs due whose jobs wait; how many.

    A job stays while only workers of the previous release serve its queue.
    """
    with connection.cursor() as cursor:
        cursor.execute(ADOPT, {"task": TASK, "channel": CHANNEL})
        return int(cursor.rowcount)


def pass_on(run_id: UUID, job: int | None, traceparent: str | None) -> None:
    """Make the run of a job due that this release has fetched; the job ends with its task."""
    values: dict[str, Any] = {"run": run_id, "job": job, "trace": traceparent, "channel": CHANNEL}
    with connection.cursor() as cursor:
        cursor.execute(PASS_ON, values)


def cancel(run: Run) -> None:
    """Take a job that has not begun out of the queue."""
    if run.job_id is not None:
        app.job_manager.cancel_job_by_id(run.job_id, delete_job=True)


def abort(run: Run) -> None:
    """Tell the worker that executes a run to stop; it also looks at ``cancel_requested_at``."""
    if run.job_id is not None:
        app.job_manager.cancel_job_by_id(run.job_id, abort=True)
    with connection.cursor() as cursor:
        cursor.execute("select pg_notify(%s, %s)", [CHANNEL, f"{CANCEL}:{run.pk}"])


def fail(run: Run) -> None:
    """End a job whose worker is gone: a pruned worker's job stays 'doing' and keeps the lock."""
    if run.job_id is None:
        return
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
