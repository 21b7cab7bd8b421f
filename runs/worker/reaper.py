"""The reaper: ends runs whose worker is gone, so that every run ends with one terminal event.

Every worker and every web process calls ``run_forever``; an advisory lock lets one through.
Procrastinate prunes a dead worker, but its job stays 'doing' and keeps the thread's lock
(measured), so run, job and lock are ended together. Then the runs of repeatable agents start again.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper

from backends.postgres import roles
from backends.postgres.bridge import db
from runs.lifecycle import admission, jobs, repetition
from runs.lifecycle.ingest import batches
from runs.models import Run
from runs.worker.patience import Patience, looking_every

log = structlog.get_logger(__name__)

LOCK = 0x4147_5549  # "AGUI"
# One statement, so one snapshot: if it sees a job as ended, it sees that job's run as ended.
ORPHANS = """
select run.journal_id from runs_run run
  left join procrastinate_jobs job on job.id = run.job_id
  left join procrastinate_workers worker on worker.id = job.worker_id
 where run.status in ('queued', 'running')
   and run.job_id is not null -- else it waits to be admitted
   and not exists (select from runs_ingest ingest where ingest.run_id = run.journal_id)
   and (job.id is null
        or job.status not in ('todo', 'doing')
        or job.status = 'doing' and (
            worker.id is null or worker.last_heartbeat < now() - make_interval(secs => %(lost)s)))
"""
# A worker that died between its run's end and its job's: the thread would stay locked.
LEFT_JOBS = """
select procrastinate_finish_job_v1(job.id, 'failed', true)
  from procrastinate_jobs job join runs_run run on run.journal_id = (job.args ->> 'run_id')::uuid
  left join procrastinate_workers worker on worker.id = job.worker_id
 where job.status = 'doing' and run.ended_at < now() - make_interval(secs => %(lost)s)
   and (worker.id is null or worker.last_heartbeat < now() - make_interval(secs => %(lost)s))
"""
# The lock of a frozen or suddenly disconnected process: its session stays, and idles.
FREE_LOCK = """
select pg_terminate_backend(pid) from pg_locks join pg_stat_activity using (pid)
 where locktype = 'advisory' and classid = 0 and objid = %(lock)s and objsubid = 1 and granted
   and state like 'idle%%' and state_change < now() - make_interval(secs => %(idle)s)
"""
IDLE = 15
PRUNE = "select * from procrastinate_prune_stalled_workers_v1(%(lost)s)"
# A periodic task whose worker died would keep its lock, and none after it would ever run.
LEFT_CHORES = """
select procrastinate_finish_job_v1(job.id, 'failed', true)
  from procrastinate_jobs job left join procrastinate_workers worker on worker.id = job.worker_id
 where job.status = 'doing' and job.task_name <> %(runs)s
   and (worker.id is null or worker.last_heartbeat < now() - make_interval(secs => %(lost)s))
"""


async def run_forever() -> None:
    """Call ``run_once`` again and again, also after it failed."""
    patience = Patience()
    while True:
        with suppress(Exception):
            await db(run_once, patience.may_judge)
        await asyncio.sleep(looking_every())


def run_once(may_judge: Callable[[], bool] = lambda: True) -> list[UUID]:
    """End every orphan; the ids of the runs that ended here.

    ``may_judge`` is called when the database has answered, and tells whether old heartbeats count.
    """
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_lock(%s)", [LOCK])
        is_ours, judges = cursor.fetchone()[0], may_judge()
        if not is_ours:
            free = roles.as_login(connection.connection, FREE_LOCK)
            cursor.execute(free, {"lock": LOCK, "idle": IDLE})
            return []
        try:
            ended = _judge(cursor) if judges else []
            repetition.sweep()
            if missed := admission.sweep():
                log.info("admission.swept", runs=missed)
            return ended
        finally:
            cursor.execute("select pg_advisory_unlock(%s)", [LOCK])


def _judge(cursor: CursorWrapper) -> list[UUID]:
    lost = {"lost": settings.AGUI_WORKER_LOST_AFTER}
    cursor.execute(ORPHANS, lost)
    ended = [run_id for (run_id,) in cursor.fetchall() if _reap(run_id)]
    for run_id in batches.sweep():
        log.warning("reaper.ended_silent_run", run=str(run_id))
        ended.append(run_id)
    # A worker that was only frozen finds its row gone when it wakes, and stops.
    cursor.execute(PRUNE, lost)
    cursor.execute(LEFT_JOBS, lost)
    cursor.execute(LEFT_CHORES, {**lost, "runs": jobs.TASK})
    return ended


def _reap(run_id: UUID) -> bool:
    try:
        run = Run.objects.of_any_team().select_related("thread", "agent").get(pk=run_id)
        ended = repetition.end_lost(run)
    except Exception:
        log.exception("reaper.failed", run=str(run_id))
        return False
    if ended:
        log.warning("reaper.ended_lost_run", run=str(run_id))
    return ended
