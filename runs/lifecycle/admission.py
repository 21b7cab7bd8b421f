"""Admission: which queued runs get a job, so that teams keep to their limits and share workers.

A run has a job from the moment it is admitted. Until then it waits without one: for its team's turn
(``concurrent_runs``) or its thread's (runs of a thread go in order).

Only one process at a time admits for a team, under the lock of the team's ``TeamUsage`` row, and
nobody ever waits for that lock: a start of one team would otherwise hold up whatever else its
transaction has locked. So everything that may make room - a start, an end, a cancel, the reaper -
tries to admit, and once more after its commit (``admit_next``). If the lock is taken, it leaves the
work to the process that has it: that one looks again after *its* commit, which comes later and
therefore sees everything committed by then. ``sweep`` covers what a process that died in between
left undone, and what an operator's higher limit lets in.

The rows of a team's runs say how many are going. The end of a run leaves a row, ``EndedRun``, in
its own transaction with the bytes that the run stored; adding it to the team's sum deletes it, so
it counts exactly once. The team's next start does that, or ``sweep``.

Between teams the queue is start-time fair: a run's stamp is its team's position in virtual time,
each run moves the team on by one, and a team that was idle starts at the run that a worker took
last. The job's priority is the negative stamp. So a team with little to do goes before the backlog
of a busy one, and nobody saves up idle time.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.db import connection, transaction

from protocol.ids import uuid7_floor, uuid7_seconds
from runs.lifecycle import jobs
from runs.models import EndedRun, Run, TeamUsage
from teams.limits import LimitReached, Limits, default

log = structlog.get_logger(__name__)

BATCH = 1_000
"""How many runs are admitted at once if there is no limit."""
LEAST_PRIORITY = -(2**31)

MAKE = "insert into runs_teamusage (team_id) values (%s) on conflict do nothing"
LOCK = """
select greatest(stamp, (select last_value from runs_virtual_time)),
       exists (select from runs_endedrun ended where ended.team_id = usage.team_id)
  from runs_teamusage usage where team_id = %s for no key update of usage skip locked
"""
# A server crash may lose job and sum, but only together with the rows that they count.
LAZY = "set local synchronous_commit = off"
# In a thread only the first run that has not ended may go: its number is its time. The order is
# that of the index ``run_waiting``: by the primary key alone, a planner would walk over all ended
# runs, since it cannot know that the waiting ones are the newest.
WAITING_FIRST = """
select run.journal_id, run.thread_id from runs_run run
 where run.team_id = {team} and run.status = 'queued' and run.job_id is null
   and not exists (
       select from runs_run earlier
        where earlier.thread_id = run.thread_id and earlier.status in ('queued', 'running')
          and earlier.journal_id < run.journal_id)
 order by run.created_at, run.journal_id
 limit greatest(0, coalesce(nullif(coalesce((
       select concurrent_runs from teams_teamlimits own where own.team_id = {team}),
       %(default)s), 0), %(batch)s) - (
       select count(distinct going.job_id) from runs_run going -- children share their parent's
        where going.team_id = {team} and going.status in ('queued', 'running')
          and going.job_id is not null))
"""
PICK = f"{WAITING_FIRST.format(team='%(team)s')} for no key update of run skip locked"
LOOK = f"""
select (%(count)s and exists (select from runs_endedrun where team_id = %(team)s))
    or exists ({WAITING_FIRST.format(team="%(team)s")})
"""  # noqa: S608
TEAMS_WITH_NEXT = f"""
select team.id
  from (select distinct team_id as id from runs_run where journal_id = any(%(runs)s)) team
 where exists ({WAITING_FIRST.format(team="team.id")})
"""  # noqa: S608
# Admits, adds up what the team's ended runs stored, and moves its stamp on.
SETTLE = """
with admitted as (
    update runs_run run set job_id = job.id
      from unnest(%(runs)s::uuid[], %(jobs)s::int8[]) as job(run, id)
     where run.journal_id = job.run),
ended as (delete from runs_endedrun where team_id = %(team)s returning bytes)
update runs_teamusage
   set stamp = greatest(stamp, %(stamp)s),
       stored_bytes = greatest(0, stored_bytes - %(freed)s
                                  + (select coalesce(sum(bytes), 0) from ended))
 where team_id = %(team)s
"""
NOTHING: dict[str, Any] = {"runs": [], "jobs": [], "stamp": 0, "freed": 0}
END = """
insert into runs_endedrun (run_id, team_id, bytes)
select run.journal_id, run.team_id, journal.bytes
  from runs_run run join events_journal journal on journal.id = run.journal_id
 where run.journal_id = %s
"""
WAITING = """
select count(*) from (
    select from runs_run where team_id = %s and status = 'queued' and job_id is null limit %s) run
"""
# The newest run but ``skip`` of the last minute: ids are times, so the index suffices.
OLDEST_IN_THE_WAY = """
select (select stored_bytes from runs_teamusage where team_id = %(team)s)
           + (select coalesce(sum(bytes), 0) from runs_endedrun where team_id = %(team)s),
       (select journal_id from runs_run where team_id = %(team)s and journal_id > %(since)s
         order by journal_id desc offset %(skip)s limit 1)
"""
TICK = """
select setval('runs_virtual_time', greatest(clock.last_value, -job.priority))
  from runs_virtual_time clock, procrastinate_jobs job where job.id = %s
"""
# One statement, so one snapshot: a run summed up here is not counted again.
RECOUNT = """
with ended as (delete from runs_endedrun where team_id = %(team)s)
update runs_teamusage usage set stored_bytes = coalesce((
    select sum(journal.bytes) from runs_run run
      join events_journal journal on journal.id = run.journal_id
     where run.team_id = usage.team_id and run.ended_at is not null), 0)
 where usage.team_id = %(team)s
"""
MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Admitted:
    """The jobs given to runs, and whether any row was changed."""

    jobs: dict[UUID, int]
    changed: bool


def check(team_id: UUID, limits: Limits) -> None:
    """Raises LimitReached if the team may not start a run now: runs per minute, stored bytes.

    Starts that are not committed yet are invisible, so a few more may slip through.
    """
    now = time.time()
    values: dict[str, Any] = {
        "team": team_id,
        "since": uuid7_floor(now - MINUTE),
        "skip": max(0, limits.runs_per_minute - 1),
    }
    with connection.cursor() as cursor:
        cursor.execute(OLDEST_IN_THE_WAY, values)
        stored, oldest = cursor.fetchone()
    if limits.stored_bytes and (stored or 0) >= limits.stored_bytes:
        raise LimitReached.of("stored_bytes", limits.stored_bytes, after=3600)
    if limits.runs_per_minute and oldest:
        after = uuid7_seconds(oldest) + MINUTE - now
        raise LimitReached.of("runs_per_minute", limits.runs_per_minute, after=after)


def admit_or_queue(run: Run, limits: Limits) -> None:
    """Admit a new run, or leave it queued; last in the transaction that creates it.

    Raises LimitReached if too many runs wait already. Starts that are not committed yet are
    invisible, so a few more may slip through.
    """
    admitted = made_room(run.team_id)
    run.job_id = admitted.jobs.get(run.pk) if admitted else None
    if run.job_id is None and limits.queued_runs:
        most = limits.queued_runs
        # Another process is admitting just now: that many of these may start yet.
        if admitted is None:
            most += limits.concurrent_runs or BATCH
        with connection.cursor() as cursor:
            cursor.execute(WAITING, [run.team_id, most + 1])
            if cursor.fetchone()[0] > most:
                raise LimitReached.of("queued_runs", limits.queued_runs, after=5)


@contextmanager
def starting(team_id: UUID) -> Iterator[None]:
    """A transaction that starts a run.

    If the start is refused, it may have held the lock: its admissions are rolled back, and others,
    who could not get the lock, left theirs to it. So it admits once more, as after a commit.
    """
    try:
        with transaction.atomic():
            yield
    except LimitReached:
        _admit_safely(team_id)
        raise


def made_room(team_id: UUID) -> Admitted | None:
    """Admit in the caller's transaction if the lock is free, and again after its commit.

    None if another process is admitting.
    """
    transaction.on_commit(partial(_admit_safely, team_id))
    return _admit(team_id)


def record_end(run_id: UUID) -> None:
    """Record what a run stored; in the transaction that ends it, once per run."""
    with connection.cursor() as cursor:
        cursor.execute(END, [run_id])


def ended(run_ids: Iterable[UUID]) -> None:
    """Admit the next runs of these runs' teams, after the commit that ended them."""
    values: dict[str, Any] = {
        "runs": list(run_ids),
        "default": default("concurrent_runs"),
        "batch": BATCH,
    }
    with connection.cursor() as cursor:
        cursor.execute(TEAMS_WITH_NEXT, values)
        teams = [team for (team,) in cursor.fetchall()]
    for team in teams:
        _admit_safely(team)


def admit_next(team_id: UUID, *, count: bool = False) -> int:
    """Admit the next runs of a team, in transactions of their own; returns how many.

    Idempotent, and never waits: see above. With ``count``, ended runs are added up, too.
    """
    total = 0
    while _has_next(team_id, count):
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(LAZY)
            admitted = _admit(team_id)
        if admitted is None:
            break
        total += len(admitted.jobs)
        if not admitted.changed:  # Another process has locked the run that would be next.
            break
    return total


def started(run: Run) -> None:
    """Move virtual time on, as a worker takes this run."""
    with connection.cursor() as cursor:
        cursor.execute(TICK, [run.job_id])


def sweep() -> int:
    """Admit waiting runs and add up ended ones, team by team; the number of admitted runs."""
    waiting = Run.objects.of_any_team().filter(status="queued", job_id=None)
    teams = waiting.order_by("team_id").values_list("team_id", flat=True).distinct()
    behind = EndedRun.objects.values_list("team_id", flat=True).distinct()
    return sum(_admit_safely(team, count=True) for team in {*teams, *behind})


def recount() -> None:
    """Sum up the stored bytes of every team again, without what was purged."""
    for team_id in list(TeamUsage.objects.values_list("team_id", flat=True)):
        _change(team_id, RECOUNT)


def freed(team_id: UUID, size: int) -> None:
    """Subtract purged or erased bytes from the team's sum; last in that transaction."""
    _change(team_id, SETTLE, **{**NOTHING, "freed": size})


def _change(team_id: UUID, statement: str, **values: Any) -> None:
    """Change a team's sum under its lock, then admit for those who could not get the lock."""
    with transaction.atomic():
        TeamUsage.objects.select_for_update(no_key=True).filter(team=team_id).first()
        with connection.cursor() as cursor:
            cursor.execute(statement, {"team": team_id, **values})
        transaction.on_commit(partial(_admit_safely, team_id))


def _admit_safely(team_id: UUID, *, count: bool = False) -> int:
    """One team's trouble is none of the others'."""
    try:
        return admit_next(team_id, count=count)
    except Exception:
        log.exception("admission.failed", team=str(team_id))
        return 0


def _has_next(team_id: UUID, count: bool) -> bool:
    """Whether a run waits for admission or, with ``count``, an ended one for being added up."""
    with connection.cursor() as cursor:
        cursor.execute(LOOK, {**_waiting(team_id), "count": count})
        return bool(cursor.fetchone()[0])


def _admit(team_id: UUID) -> Admitted | None:
    """Give jobs to the next runs of a team; None if another process has its lock.

    The count and the pick are statements of their own after the lock, so they see everything
    committed before.
    """
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [team_id])
        if (row := cursor.fetchone()) is None:
            # This waits only for another of a team's first starts ever.
            cursor.execute(MAKE, [team_id])
            if not cursor.rowcount:
                return None
            cursor.execute(LOCK, [team_id])
            row = cursor.fetchone()
        stamp, uncounted = row
        cursor.execute(PICK, _waiting(team_id))
        assigned = {
            run: jobs.defer(run, thread, max(LEAST_PRIORITY, -(stamp + number)))
            for number, (run, thread) in enumerate(cursor.fetchall())
        }
        if not assigned and not uncounted:
            return Admitted({}, changed=False)
        values = {
            "runs": list(assigned),
            "jobs": list(assigned.values()),
            "stamp": stamp + len(assigned),
        }
        cursor.execute(SETTLE, {**NOTHING, **values, "team": team_id})
        return Admitted(assigned, changed=True)


def _waiting(team_id: UUID) -> dict[str, Any]:
    return {"team": team_id, "default": default("concurrent_runs"), "batch": BATCH}
