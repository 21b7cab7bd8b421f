"""Admission: which queued runs get a stamp, so that teams keep to their limits and share workers.

A run has a stamp from the moment it is admitted. Until then it waits without one: for its team's
turn (``concurrent_runs``) or its thread's (runs of a thread go in order).

Only one process at a time admits for a team, under the lock of the team's ``TeamUsage`` row. No
transaction that has locked anything else waits for it: a start of one team would otherwise hold up
whatever that is. So everything that may make room - an end, a cancel, the reaper - and each
start whose run has to wait tries to admit once more after its commit (``admit_next``), when it has
nothing locked: then it waits for the lock, and sees everything committed by then. ``sweep`` covers
what a process that died in between left undone, and what an operator's higher limit lets in.

The rows of a team's runs say how many are going. The end of a run leaves a row, ``EndedRun``, in
its own transaction with the bytes that the run stored; adding it to the team's sum deletes it, so
it counts exactly once. The team's next start does that, or ``sweep``.

Between teams the queue is start-time fair: a run's stamp is its team's position in virtual time,
each run moves the team on by one, and a team that was idle starts at the run that a worker took
last. Workers take the lowest stamp first. So a team with little to do goes before the backlog
of a busy one, and nobody saves up idle time.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
import structlog
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Q
from psycopg.errors import LockNotAvailable

from agui_host.backends.postgres import clock
from agui_host.protocol.ids import uuid7_floor, uuid7_seconds
from agui_host.teams.actors import Actor
from agui_host.teams.limits import BudgetExceeded, LimitReached, Limits, default
from events.writer import FollowUp
from events.writer.lease import Statement
from runs.lifecycle import jobs
from runs.models import WAITING, EndedRun, Run, TeamUsage

log = structlog.get_logger(__name__)

BATCH = 1_000
"""How many runs are admitted at once if there is no limit."""
TOO_MANY_WAIT, TOO_MUCH_STORED, TOO_MANY_STARTED = "AG001", "AG003", "AG004"
BUDGET_SPENT = "AG010"

# The functions are in runs/sql/admission.sql, that of a handed start in runs/sql/start.sql.
PLACES = {
    False: """
select agui_place(%(team)s, %(run)s, %(default)s, %(batch)s, %(queue)s, %(task)s,
                  %(at_once)s, %(queued)s), null::int8
""",
    True: """
select its_stamp, taken_by from agui_place_handed(
    %(team)s, %(run)s, %(default)s, %(batch)s, %(queue)s, %(task)s, %(at_once)s, %(queued)s,
    %(link)s)
""",
}
"""Return a new run's stamp, and its worker: the key is whether a worker may have it at once."""
ADMIT = """
select runs, jobs, changed from agui_admit(%(team)s, %(default)s, %(batch)s, %(queue)s, %(task)s)
"""
# A server crash may lose stamp and sum, but only together with the rows that they count.
LAZY = "set local synchronous_commit = off"
PATIENCE = "200ms"
"""How long an admission behind a commit waits for a team's lock; the sweep covers the rest."""
LOCK = f"""
set local lock_timeout = '{PATIENCE}';
select from runs_teamusage where team_id = %(team)s for no key update;
set local lock_timeout to default
"""
LOOK = "select agui_has_next(%(team)s, %(default)s, %(batch)s, %(count)s)"
TEAMS_WITH_NEXT = "select agui_teams_with_next(%(runs)s, %(default)s, %(batch)s)"
FREE = "select agui_settle(%(team)s, 0, %(freed)s)"
CHECK = "select agui_check(%(team)s, %(most_bytes)s, %(most_runs)s, %(since)s)"
# One statement, so one snapshot: a run summed up here is not counted again.
RECOUNT = """
with ended as (delete from runs_endedrun where team_id = %(team)s)
update runs_teamusage usage set stored_bytes = coalesce((
    select sum(journal.bytes) from runs_run run
      join events_journal journal on journal.id = run.journal_id
     where run.team_id = usage.team_id and run.ended_at is not null), 0) + coalesce((
    select sum(bytes) from runs_effect effect where effect.team_id = usage.team_id), 0)
 where usage.team_id = %(team)s
"""
MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Admitted:
    """The stamps given to runs, and whether any row was changed."""

    stamps: dict[UUID, int]
    changed: bool


def check(team_id: UUID, limits: Limits) -> None:
    """Raises LimitReached if the team may not start a run now: runs per minute, stored bytes.

    Starts that are not committed yet are invisible, so a few more may slip through.
    """
    with refusing(limits), connection.cursor() as cursor:
        cursor.execute(CHECK, check_of(team_id, limits))


def check_of(team_id: UUID, limits: Limits) -> dict[str, Any]:
    """The values of ``CHECK``, which refuses as ``check`` does (``refusing``)."""
    return {
        "team": team_id,
        "most_bytes": limits.stored_bytes,
        "most_runs": limits.runs_per_minute,
        "since": uuid7_floor(clock.seconds() - MINUTE),
    }


def check_person(team_id: UUID, starter: Actor) -> None:
    """Raises LimitReached if this end user may not start a run now; as exact as ``check``."""
    most = settings.AGUI_END_USER_RUNS_PER_MINUTE
    if starter.end_user is None or not most:
        return
    theirs = Run.objects.filter(
        team=team_id, end_user=starter.end_user.sub, thread__creator=starter.actor_id, parent=None,
        pk__gt=uuid7_floor(clock.seconds() - MINUTE),
    )  # fmt: skip
    oldest = theirs.order_by("-pk").values_list("pk", flat=True)[most - 1 : most].first()
    if oldest is not None:
        after = uuid7_seconds(oldest) + MINUTE - clock.seconds()
        raise LimitReached.of("end_user_runs_per_minute", most, after=after)


def place(run: Run, limits: Limits, link: str | None = None) -> None:
    """Admit a new run, or leave it queued. Raises LimitReached if too many runs wait already.

    ``link``: of the worker that may have it at once.
    """
    with refusing(limits), connection.cursor() as cursor:
        cursor.execute(PLACES[link is not None], place_of(run, limits) | {"link": link})
        note_place(run, *cursor.fetchone())


def note_place(run: Run, stamp: int | None, worker: int | None) -> None:
    """Note the values that this statement has returned."""
    run.stamp = stamp
    if worker is not None:  # A child has its parent's.
        run.worker = worker


def place_of(run: Run, limits: Limits) -> dict[str, Any]:
    """The values of ``PLACES`` but the link, the last statement of the transaction of a start.

    It refuses if too many runs wait already (``refusing``). Starts that are not committed yet are
    invisible, so a few more may slip through.
    """
    return {
        **_waiting(run.team_id),
        "run": run.pk,
        # How many more may start yet while another process is admitting.
        "at_once": limits.concurrent_runs or BATCH,
        "queued": limits.queued_runs,
    }


@contextmanager
def refusing(limits: Limits | None) -> Iterator[None]:
    """Raises LimitReached where the database refuses ``CHECK`` or ``PLACES``."""
    try:
        yield
    except DatabaseError as error:
        if (refusal := _refusal(error.__cause__, limits)) is None:
            raise
        raise refusal from None


def _refusal(error: BaseException | None, limits: Limits | None) -> LimitReached | None:
    if not isinstance(error, psycopg.Error):
        return None
    if error.sqlstate == BUDGET_SPENT:
        wait = error.diag.message_hint
        return BudgetExceeded.until(error.diag.message_detail, float(wait) if wait else None)
    if limits is None:
        return None
    if error.sqlstate == TOO_MANY_WAIT:
        return LimitReached.of("queued_runs", limits.queued_runs, after=5)
    if error.sqlstate == TOO_MUCH_STORED:
        return LimitReached.of("stored_bytes", limits.stored_bytes, after=3600)
    if error.sqlstate == TOO_MANY_STARTED:
        oldest = UUID(error.diag.message_detail)
        after = uuid7_seconds(oldest) + MINUTE - clock.seconds()
        return LimitReached.of("runs_per_minute", limits.runs_per_minute, after=after)
    return None


@contextmanager
def starting(team_id: UUID, *, one_message: bool = False) -> Iterator[None]:
    """A transaction that starts a run; ``one_message`` is one by itself.

    If the start is refused, its admissions are rolled back. So it admits once more, as after a
    commit.
    """
    alone = one_message and not connection.in_atomic_block
    try:
        with nullcontext() if alone else transaction.atomic():
            yield
    except LimitReached:
        look_again(team_id)
        raise


def made_room(team_id: UUID) -> None:
    """Admit in the caller's transaction if the lock is free, and again after its commit."""
    look_again(team_id)
    _admit(team_id)


def look_again(team_id: UUID) -> None:
    """Admit after the caller's commit: what the lock, or a commit that came later, has held up."""
    transaction.on_commit(partial(_admit_safely, team_id))


def teams_with_next(run_ids: Iterable[UUID]) -> Statement:
    """A statement for the teams of these runs in which one waits for admission."""
    values: dict[str, Any] = {
        "runs": list(run_ids),
        "default": default("concurrent_runs"),
        "batch": BATCH,
    }
    return Statement(TEAMS_WITH_NEXT, values)


def admit_all(teams: Iterable[tuple[UUID]]) -> None:
    """Admit the next runs of these teams, which are rows of ``teams_with_next``."""
    for team in {team for (team,) in teams}:
        _admit_safely(team, has_next=True)


def ended(run_ids: Iterable[UUID]) -> None:
    """Admit the next runs of these runs' teams, after the commit that ended them."""
    admit_all(teams_with_next(run_ids)())


FOLLOW_UP = FollowUp(teams_with_next, admit_all)
"""``ended``, for a writer: it asks for the teams in the message that ends their runs."""


def admit_next(team_id: UUID, *, count: bool = False, has_next: bool = False) -> int:
    """Admit the next runs of a team, in transactions of their own; returns how many.

    Idempotent: see above. With ``count``, ended runs are added up, too. ``has_next``: the caller
    has just seen that a run waits. Raises OperationalError if another process keeps the team's
    lock.
    """
    total = 0
    while has_next or _has_next(team_id, count):
        has_next = False
        admitted = _admit_behind_a_commit(team_id)
        if admitted is None:
            break
        total += len(admitted.stamps)
        if not admitted.changed:  # Another process has locked the run that would be next.
            break
    return total


def sweep() -> int:
    """Admit waiting runs and add up ended ones, team by team; the number of admitted runs.

    Due runs get jobs if only workers of the previous release are there to execute them.
    """
    runs = Run.objects.of_any_team().order_by("team_id").values_list("team_id", flat=True)
    waiting, due = (runs.filter(each).distinct() for each in (WAITING, Q(due_at__isnull=False)))
    behind = EndedRun.objects.values_list("team_id", flat=True).distinct()
    return sum(_admit_safely(team, count=True) for team in {*waiting, *due, *behind})


def recount() -> None:
    """Sum up the stored bytes of every team again, without purged runs."""
    for team_id in list(TeamUsage.objects.values_list("team_id", flat=True)):
        _change(team_id, RECOUNT)


def freed(team_id: UUID, size: int) -> None:
    """Subtract purged or erased bytes from the team's sum; last in that transaction."""
    _change(team_id, FREE, freed=size)


def _change(team_id: UUID, statement: str, **values: Any) -> None:
    """Change a team's sum under its lock, then admit for those who gave up waiting for it."""
    with transaction.atomic():
        TeamUsage.objects.select_for_update(no_key=True).filter(team=team_id).first()
        with connection.cursor() as cursor:
            cursor.execute(statement, {"team": team_id, **values})
        transaction.on_commit(partial(_admit_safely, team_id))


def _admit_safely(team_id: UUID, *, count: bool = False, has_next: bool = False) -> int:
    """One team's trouble is none of the others'."""
    try:
        return admit_next(team_id, count=count, has_next=has_next)
    except Exception as error:
        if isinstance(error.__cause__, LockNotAvailable):
            log.info("admission.left", team=str(team_id))
        else:
            log.exception("admission.failed", team=str(team_id))
        return 0


def _has_next(team_id: UUID, count: bool) -> bool:
    """Whether a run waits for admission or, with ``count``, an ended one for being added up."""
    with connection.cursor() as cursor:
        cursor.execute(LOOK, {**_waiting(team_id), "count": count})
        return bool(cursor.fetchone()[0])


def _admit(team_id: UUID) -> Admitted | None:
    """Give stamps to the next runs of a team; None if another process has its lock."""
    with connection.cursor() as cursor:
        cursor.execute(ADMIT, _waiting(team_id))
        return _admitted(cursor.fetchone())


def _admit_behind_a_commit(team_id: UUID) -> Admitted | None:
    """``_admit`` in a transaction of its own that waits for the lock: one message, if it may be."""
    if connection.in_atomic_block:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"{LAZY}; {LOCK}", {"team": team_id})
            return _admit(team_id)
    before = ("begin", LAZY, *LOCK.split(";"))
    try:
        with connection.cursor() as cursor:
            cursor.execute(";".join([*before, ADMIT, "commit"]), _waiting(team_id))
            for _ in before:
                cursor.nextset()
            return _admitted(cursor.fetchone())
    except DatabaseError:
        if connection.connection is not None and not connection.connection.closed:
            connection.connection.rollback()
        raise


def _admitted(row: Any) -> Admitted | None:
    return None if row is None else Admitted(dict(zip(row[0], row[1], strict=True)), row[2])


def _waiting(team_id: UUID) -> dict[str, Any]:
    return {
        "team": team_id,
        "default": default("concurrent_runs"),
        "batch": BATCH,
        "queue": jobs.QUEUE,
        "task": jobs.TASK,
    }
