"""The reaper: ends runs whose worker is gone, so that every run ends with one terminal event.

Every worker and every web process calls ``run_forever``; an advisory lock lets one through. The
runs of repeatable agents start again, those of agents that continue get another worker.

The supervisor of a worker that died need not wait for its heartbeat to grow old. It calls ``bury``,
or only ends the registration, if it has no Django. Every process sees that within a moment, without
a message that could be lost: the first one to get the lock ends the runs.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import datetime
from uuid import UUID

import psycopg
import structlog
from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper

from agui_host.backends.postgres.base import apart
from agui_host.backends.postgres.bridge import db
from runs.lifecycle import admission, jobs, repetition
from runs.lifecycle.ingest import batches
from runs.lifecycle.recovery import handing, probation
from runs.models import IS_ACTIVE, Run
from runs.worker.patience import Patience, looking_every
from runs.worker.taking import registration

log = structlog.get_logger(__name__)

LOCK = 0x4147_5549  # "AGUI"
# One statement, so one snapshot. A run is lost if its worker is, or if it neither waits nor has a
# worker; a child also if its parent, which waits for it, has ended without it. A child that waits
# for its parent's next attempt is not. A run with a job is executed by a worker of the previous
# release.
ORPHANS = f"""
select run.journal_id from runs_run run
  left join runs_worker worker on worker.id = run.worker
  left join procrastinate_jobs job on job.id = run.job_id
  left join procrastinate_workers old on old.id = job.worker_id
  left join runs_run parent on parent.journal_id = run.parent_id
 where run.{IS_ACTIVE} and (run.due_at is null or run.job_id is not null)
   and (run.status = 'running' or coalesce(run.stamp, run.job_id) is not null) -- else not admitted
   and not exists (select from runs_ingest ingest where ingest.run_id = run.journal_id)
   and (parent.ended_at is not null or parent.journal_id is null or not exists (
       select from runs_recovery waits
        where waits.run_id = run.journal_id and waits.taken_at is null))
   and case
       when run.job_id is null then
           worker.id is null or worker.heartbeat < now() - make_interval(secs => %(lost)s)
           or parent.ended_at < now() - make_interval(secs => %(lost)s)
       else job.id is null or job.status not in ('todo', 'doing')
            or job.status = 'doing' and (
               old.id is null or old.last_heartbeat < now() - make_interval(secs => %(lost)s))
       end
"""  # noqa: S608
# A worker of the previous release that died between its run's end and its job's.
LEFT_JOBS = """
select procrastinate_finish_job_v1(job.id, 'failed', true)
  from procrastinate_jobs job join runs_run run on run.journal_id = (job.args ->> 'run_id')::uuid
  left join procrastinate_workers worker on worker.id = job.worker_id
 where job.status = 'doing' and run.ended_at < now() - make_interval(secs => %(since)s)
   and (worker.id is null or worker.last_heartbeat < now() - make_interval(secs => %(lost)s))
"""
IDLE = 5
"""Seconds after which PostgreSQL takes the lock back from a transaction that does nothing: its
process is frozen, was cut off, or takes long for one run. Then two processes look at once, and the
lock of each run lets one of them through."""
# A transaction's, not a session's: behind a connection pooler a session is everybody's.
ALONE = """
select set_config('idle_in_transaction_session_timeout', %(idle)s, true),
       pg_try_advisory_xact_lock(%(lock)s)
"""
PRUNE = """
delete from runs_worker where heartbeat < now() - make_interval(secs => %(lost)s)
returning id, heartbeat
"""
PRUNE_CHORES = "select procrastinate_prune_stalled_workers_v1(%(lost)s)"
# A periodic task whose worker died would keep its lock, and none after it would ever run.
LEFT_CHORES = """
select procrastinate_finish_job_v1(job.id, 'failed', true)
  from procrastinate_jobs job left join procrastinate_workers worker on worker.id = job.worker_id
 where job.status = 'doing' and job.task_name <> %(runs)s
   and (worker.id is null or worker.last_heartbeat < now() - make_interval(secs => %(lost)s))
"""
NEVER = 1e9
"""Seconds of silence that no worker reaches: only those without a row are gone."""
SILENT_LONGEST = """
select extract(epoch from now() - least(
    (select min(heartbeat) from runs_worker),
    (select min(last_heartbeat) from procrastinate_workers)))
"""
GLANCE = 0.5
"""Seconds between two glances at the registrations: one row for each worker."""
SOON, AGAIN = 0.05, 1.0
"""Seconds after the moment in which a worker is lost; and between looks that may not judge it."""


class Lookout:
    """One process's view of the workers: when it looks for lost runs again."""

    def __init__(self) -> None:
        self._patience = Patience()
        self._present: set[int] = set()

    def look(self) -> float:
        """Look for lost runs; in how many seconds to look again, if nothing happens."""
        # Before the look, so that a registration that ends during it is missed afterwards.
        present = registration.present()
        if look(self._patience.may_judge) is not None:
            self._present = present
        return seconds_to_next()

    def misses_a_worker(self) -> bool:
        """Whether a registration has ended since the last look. True until this process has looked:
        another one, which has the lock, can have begun before that."""
        present = registration.present()
        if self._present - present:
            return True
        self._present = present
        return False


async def run_forever() -> None:
    """Look again and again, also after it failed, and at once when a registration ends."""
    lookout = Lookout()
    while True:
        pause = looking_every()
        with suppress(Exception):
            pause = await db(lookout.look)
        until = time.monotonic() + pause
        while (left := until - time.monotonic()) > 0:
            await asyncio.sleep(min(left, GLANCE))
            with suppress(Exception):
                if await db(lookout.misses_a_worker):
                    break


def run_once(may_judge: Callable[[], bool] = lambda: True) -> list[UUID]:
    """``look``, if another process does not look already."""
    return look(may_judge) or []


def look(may_judge: Callable[[], bool]) -> list[UUID] | None:
    """End every orphan; the ids of the runs that ended here. None if another process looks.

    ``may_judge`` is called when the database has answered, and tells whether old heartbeats count.
    The lock has a connection of its own, since each run is ended in a transaction of its own.
    """
    ended: list[UUID] | None = None
    try:
        with apart() as other:
            row = other.execute(ALONE, {"lock": LOCK, "idle": f"{IDLE}s"}).fetchone()
            judges = may_judge()
            if row is not None and row[1]:
                ended = _look(judges)
    except psycopg.Error as error:  # of the other connection: ours raises those of Django
        log.warning("reaper.lock_lost", error=str(error))
    return ended


def _look(judges: bool) -> list[UUID]:
    with connection.cursor() as cursor:
        ended = _judge(cursor) if judges else _unregistered(cursor)
    repetition.sweep()
    jobs.adopt()
    if missed := admission.sweep():
        log.info("admission.swept", runs=missed)
    return ended


def bury(worker_id: int) -> list[UUID]:
    """End at once what a worker has left; its caller, a supervisor, knows that it is dead.

    No heartbeat counts here, so nothing of another worker is touched. Idempotent, and safe beside
    ``run_once``.
    """
    registration.remove(worker_id)
    with connection.cursor() as cursor:
        ended = _unregistered(cursor)
    repetition.sweep()
    log.warning("reaper.buried_worker", worker=worker_id, runs=len(ended))
    return ended


def _unregistered(cursor: CursorWrapper) -> list[UUID]:
    # Their worker was ended by itself or by others: this needs no patience.
    ended = _orphans(cursor, NEVER, {})
    _left(cursor, NEVER, since=0.0)
    return ended


def _judge(cursor: CursorWrapper) -> list[UUID]:
    lost = settings.AGUI_WORKER_LOST_AFTER
    # First: a worker that was only frozen must not beat again once its runs are judged, and begin
    # what it was handed. It finds its row gone when it wakes, and stops.
    cursor.execute(PRUNE, {"lost": lost})
    ended = _orphans(cursor, lost, dict(cursor.fetchall()))
    cursor.execute(PRUNE_CHORES, {"lost": lost})
    for run_id in batches.sweep():
        log.warning("reaper.ended_silent_run", run=str(run_id))
        ended.append(run_id)
    _left(cursor, lost, since=lost)
    return ended


def _orphans(cursor: CursorWrapper, lost: float, heartbeats: Mapping[int, datetime]) -> list[UUID]:
    """``heartbeats``: the last ones of workers that are lost by their silence."""
    cursor.execute(ORPHANS, {"lost": lost})
    runs = [run_id for (run_id,) in cursor.fetchall()]
    suspects = probation.suspects(runs, heartbeats) if runs else {}
    return [run_id for run_id in runs if _reap(run_id, suspects)]


def _left(cursor: CursorWrapper, lost: float, *, since: float) -> None:
    cursor.execute(LEFT_JOBS, {"lost": lost, "since": since})
    cursor.execute(LEFT_CHORES, {"lost": lost, "runs": jobs.TASK})


def seconds_to_next() -> float:
    """Seconds to the next look: until the worker that was silent longest is lost, if it stays so.

    Live workers beat in time, so this is ``looking_every`` while there are no others.
    """
    with connection.cursor() as cursor:
        cursor.execute(SILENT_LONGEST)
        (silent,) = cursor.fetchone()
    left = settings.AGUI_WORKER_LOST_AFTER - float(silent or 0)
    return min(looking_every(), left + SOON if left > 0 else AGAIN)


def _reap(run_id: UUID, suspects: Mapping[int, Collection[UUID]]) -> bool:
    try:
        run = Run.objects.of_any_team().select_related("thread", "agent").get(pk=run_id)
        blamed = suspects.get(run.worker, ()) if run.worker is not None else ()
        ended = repetition.end_lost(run, counts=not blamed or run.pk in blamed)
    except Exception:
        log.exception("reaper.failed", run=str(run_id))
        return False
    if ended and not handing.may(run):
        log.warning("reaper.ended_lost_run", run=str(run_id))
    return ended
