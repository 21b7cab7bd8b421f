"""Admission: which queued runs get a job, so that teams keep to their limits and share workers.

A run has a job from the moment it is admitted. Until then it waits without one, for its team's
turn (``concurrent_runs``) or its thread's (the first that has not ended goes). Whoever may have
made room - a start, an end, a cancel, the reaper - admits in the same transaction; ``sweep``
finds what was missed, and what an operator's higher limit lets in.

One admits for a team at a time: the lock of its ``TeamUsage`` row comes last in the order of
locks (``lifecycle``), and several teams' rows in the order of their ids. Who holds it waits for
nobody. The count and the pick are statements of their own behind it, so they see what everybody
before has committed.

Between teams the queue is start-time fair: a run's stamp is where its team stands in virtual
time, each run moves the team on by one, and a team that was idle starts at the run that a worker
took last. The job's priority is the stamp's negative. So a team with little to do goes before
the backlog of a busy one, and nobody saves up idle time.
"""

import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import structlog
from django.db import DatabaseError, connection, transaction
from django.db.models import F
from django.db.models.functions import Greatest
from psycopg.errors import LockNotAvailable

from runs import jobs
from runs.models import Run, TeamUsage
from teams.limits import LimitReached, Limits, default

log = structlog.get_logger(__name__)

START_WAITS, END_WAITS = "2s", "250ms"
"""For the team's lock. The writer of all runs of a worker waits in an end: that must be short."""
BATCH = 1_000
"""Runs admitted at once where there is no limit."""
LEAST_PRIORITY = -(2**31)

MAKE = "insert into runs_teamusage (team_id) select unnest(%s::uuid[]) on conflict do nothing"
LOCK = """
select usage.team_id,
       greatest(usage.stamp, (select last_value from runs_virtual_time)),
       (select concurrent_runs from teams_teamlimits own where own.team_id = usage.team_id)
  from runs_teamusage usage
 where usage.team_id = any(%s) order by usage.team_id for no key update
"""
# In a thread only the first run that has not ended may go: its number is its time. The order is
# that of the index ``run_waiting`` and of no other: by the primary key alone, a planner would walk
# over all runs that have ended, since it cannot know that those that wait are the newest.
PICK = """
select run.journal_id, run.thread_id from runs_run run
 where run.team_id = %(team)s and run.status = 'queued' and run.job_id is null
   and not exists (
       select from runs_run earlier
        where earlier.thread_id = run.thread_id and earlier.status in ('queued', 'running')
          and earlier.journal_id < run.journal_id)
 order by run.created_at, run.journal_id
 limit greatest(0, %(most)s - (
       select count(distinct going.job_id) from runs_run going -- children share their parent's
        where going.team_id = %(team)s and going.status in ('queued', 'running')
          and going.job_id is not null))
   for no key update of run skip locked
"""
ADMIT = """
with given as (
    update runs_run run set job_id = job.id
      from unnest(%s::uuid[], %s::int8[]) as job(run, id) where run.journal_id = job.run)
update runs_teamusage set stamp = %s where team_id = %s
"""
STORED = """
with ended as (
    select run.team_id, sum(journal.bytes) as bytes
      from runs_run run join events_journal journal on journal.id = run.journal_id
     where run.journal_id = any(%s) group by run.team_id)
update runs_teamusage usage set stored_bytes = usage.stored_bytes + ended.bytes
  from ended where usage.team_id = ended.team_id
"""
WAITING = """
select count(*) from (
    select from runs_run where team_id = %s and status = 'queued' and job_id is null limit %s) run
"""
# The newest run but ``skip`` of the last minute: ids are times, so the index has it all.
OLDEST_IN_THE_WAY = """
select (select stored_bytes from runs_teamusage where team_id = %(team)s),
       (select journal_id from runs_run where team_id = %(team)s and journal_id > %(since)s
         order by journal_id desc offset %(skip)s limit 1)
"""
TICK = """
select setval('runs_virtual_time', greatest(clock.last_value, -job.priority))
  from runs_virtual_time clock, procrastinate_jobs job where job.id = %s
"""
RECOUNT = """
update runs_teamusage usage set stored_bytes = coalesce((
    select sum(journal.bytes) from runs_run run
      join events_journal journal on journal.id = run.journal_id
     where run.team_id = usage.team_id and run.ended_at is not null), 0)
"""
MINUTE = 60.0


def check(team_id: UUID, limits: Limits) -> None:
    """Raises LimitReached for a team that may not start now: runs per minute, stored bytes.

    Starts that are not committed yet are not seen, so as many more may slip through.
    """
    now = time.time()
    values: dict[str, Any] = {
        "team": team_id,
        "since": moment(now - MINUTE),
        "skip": max(0, limits.runs_per_minute - 1),
    }
    with connection.cursor() as cursor:
        cursor.execute(OLDEST_IN_THE_WAY, values)
        stored, oldest = cursor.fetchone()
    if limits.stored_bytes and (stored or 0) >= limits.stored_bytes:
        raise LimitReached.of("stored_bytes", limits.stored_bytes, after=3600)
    if limits.runs_per_minute and oldest:
        after = seconds_of(oldest) + MINUTE - now
        raise LimitReached.of("runs_per_minute", limits.runs_per_minute, after=after)


def moment(seconds: float) -> UUID:
    """The least UUIDv7 of a time."""
    return UUID(int=int(seconds * 1000) << 80)


def seconds_of(run_id: UUID) -> float:
    """When a run's id was made, in epoch seconds."""
    return (run_id.int >> 80) / 1000


def enter(run: Run, limits: Limits, *, ended: Sequence[UUID] = ()) -> None:
    """Admit a new run, or let it wait; last in the transaction that makes it (and ended others).

    Raises LimitReached when too many wait already.
    """
    admitted = _admit([run.team_id], ended, patience=START_WAITS)
    if admitted is None:
        return  # the lock was not to be had: whoever holds it, or the sweep, will look
    run.job_id = admitted.get(run.pk)
    if run.job_id is None and limits.queued_runs:
        with connection.cursor() as cursor:
            cursor.execute(WAITING, [run.team_id, limits.queued_runs + 1])
            if cursor.fetchone()[0] > limits.queued_runs:
                raise LimitReached.of("queued_runs", limits.queued_runs, after=5)


def ended(run_ids: Sequence[UUID]) -> None:
    """Admit the next runs of these runs' teams; last in the transaction that ends them."""
    teams = set(
        Run.objects.unscoped("runs that ended, of any team")
        .filter(pk__in=run_ids)
        .values_list("team_id", flat=True)
    )
    _admit(sorted(teams), ended=run_ids)


def started(run: Run) -> None:
    """A worker takes this run: virtual time moves on."""
    with connection.cursor() as cursor:
        cursor.execute(TICK, [run.job_id])


def sweep() -> int:
    """Admit what nobody admitted, team by team; how many runs."""
    waiting = Run.objects.unscoped("a sweep over all teams").filter(status="queued", job_id=None)
    teams = waiting.order_by("team_id").values_list("team_id", flat=True).distinct()
    return sum(len(_admit([team]) or ()) for team in list(teams))


def recount() -> None:
    """Sum up the stored bytes of every team: what was purged counts no more."""
    with connection.cursor() as cursor:
        cursor.execute(RECOUNT)


def freed(team_id: UUID, size: int) -> None:
    """So many bytes of the team's were purged or erased; last in the transaction that says so."""
    left = Greatest(F("stored_bytes") - size, 0)
    TeamUsage.objects.filter(team=team_id).update(stored_bytes=left)


def _admit(
    teams: Sequence[UUID], ended: Sequence[UUID] = (), patience: str = END_WAITS
) -> dict[UUID, int] | None:
    """Give jobs to the next runs of these teams; None when a lock was not to be had in time.

    A frozen process may hold the lock: then the caller's transaction goes on without us.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            found: dict[UUID, int] = {}
            for team, stamp, own in _lock(teams, patience):
                most = default("concurrent_runs") if own is None else own
                found |= _fill(team, stamp, most or BATCH)
            if ended:
                cursor.execute(STORED, [list(ended)])
            return found
    except DatabaseError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        log.warning("admission.locked", teams=[str(team) for team in teams])
        return None


def _lock(teams: Sequence[UUID], patience: str) -> list[tuple[UUID, int, int | None]]:
    with connection.cursor() as cursor:
        # both in one round trip; the second one's rows are what is wanted
        cursor.execute(f"set local lock_timeout = '{patience}'; {LOCK}", [list(teams)])
        cursor.nextset()
        rows: list[tuple[UUID, int, int | None]] = cursor.fetchall()
        if len(rows) < len(teams):
            cursor.execute(MAKE, [list(teams)])
            cursor.execute(LOCK, [list(teams)])
            rows = cursor.fetchall()
        return rows


def _fill(team: UUID, stamp: int, most: int) -> dict[UUID, int]:
    with connection.cursor() as cursor:
        cursor.execute(PICK, {"team": team, "most": most})
        picked = cursor.fetchall()
        if not picked:
            return {}
        given = {
            run: jobs.defer(run, thread, max(LEAST_PRIORITY, -(stamp + number)))
            for number, (run, thread) in enumerate(picked)
        }
        cursor.execute(ADMIT, [list(given), list(given.values()), stamp + len(given), team])
        return given
