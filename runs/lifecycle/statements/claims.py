"""The claim of a queued run: its journal's next generation, its status, virtual time moved on."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from django.db import DatabaseError, connection, transaction
from django.db.models import Exists, OuterRef

from agui_host.backends import epochs
from agui_host.backends.postgres import clock
from agui_host.backends.postgres.compiled import Compiled
from agui_host.protocol.encoding import Record
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.intake.intake import Intake
from agui_host.teams.limits import Limits, limits_of
from events import journal
from events.journal import Batch, Claim
from events.models import Journal
from runs.lifecycle import history, interrupts
from runs.lifecycle.history import Past, Prepared
from runs.lifecycle.ingest import intakes
from runs.lifecycle.statements import known_rows
from runs.lifecycle.statuses import leading_to
from runs.lifecycle.steering import messages
from runs.models import Budget, Interrupt, Run, Status, Thread

CLAIM = f"""
select generation, head, asked, {journal.EPOCH} from agui_claim(%(run)s, %(at)s, %(from)s)
"""  # noqa: S608
NOT_QUEUED = "AG002"


@dataclass(frozen=True, slots=True)
class Claimed:
    """An executor works on a run with this: its right to append, the run, its input.

    If there are ``questions`` (interrupts in wire form), it must not act, but end with them again.
    ``intake`` is set if the log has begun with the claim, by the events in ``opening``; without
    those nobody can say which bytes an earlier attempt has stored.
    """

    claim: Claim
    run: Run
    prepared: Prepared
    limits: Limits
    questions: list[dict[str, Any]] = field(default_factory=list)
    intake: Intake | None = None
    opening: Batch | None = None


class NotQueued(Exception):
    """The run is no longer queued. Control flow: what the claim has changed must be rolled back."""


class Beginning(NamedTuple):
    """What an executor begins with: the input, and the intake with the log's first records."""

    prepared: Prepared
    limits: Limits
    intake: Intake | None
    records: list[Record]


class Taken(NamedTuple):
    """A claim, and whether its thread has ever had questions."""

    claim: Claim
    has_questions: bool


def claim(run_id: UUID, at: datetime | None = None, *, begins: bool = False) -> Claimed | None:
    """Claim a queued run for execution; None if the run is no longer queued.

    Its input joins the thread only now, because the thread may have grown while the run was queued.
    A caller that tries again after an error passes the same ``at`` each time: the claim may have
    been committed although the answer was lost, and ``at`` identifies it. ``begins``: RUN_STARTED
    is stored in the same transaction, unless the run is to be fed.
    """
    run, is_first = _read(run_id)
    past = _past_of(run, is_first)
    now = at or clock.now()
    begins = begins and not run.agent.is_fed

    def attempt() -> Claimed | None:
        if is_first and not connection.in_atomic_block:
            # In a fresh thread nothing else is written: one message, which is a transaction.
            start = _start_of(run, past, begins)
            taken = _take(run_id, now, start.records)
            return _claimed(run, taken, now, start) if taken else None
        with transaction.atomic():
            if (taken := _take(run_id, now)) is None:
                return None
            start = _start_of(run, past, begins)
            return _claimed(run, _begin(taken, start.records), now, start)

    with suppress(NotQueued):
        if claimed := journal.past_a_frozen_writer(run_id, attempt):
            return claimed
    # Checked only now: an earlier attempt of ours may have been committed during the takeover.
    ours = Run.objects.already_found().filter(pk=run_id, status=Status.RUNNING)
    if at is None or not ours.filter(started_at=at).exists():
        return None
    with transaction.atomic():
        taken = Taken(journal.current_claim(run_id), has_questions=True)
        return replace(_claimed(run, taken, now, _start_of(run, past, begins)), opening=None)


def of_fresh_thread(row: Mapping[str, Any], at: datetime) -> Claimed:
    """What an executor needs of a run that ``agui_take_due_runs`` has claimed: its thread's first.

    ``row`` is one of its rows, with a generation.
    """
    run = _first_run(row)
    claim = Claim(run.pk, row["generation"], 0, epochs.latest)
    start = _start_of(run, Past(Fold(), 0), begins=False)
    return _claimed(run, Taken(claim, has_questions=False), at, start)


def of_thread(run_id: UUID, generation: int) -> Claimed | None:
    """What an executor needs of a run with a history that its start, or a take, has claimed.

    None if another process has claimed or ended it since. A caller tries again after an error:
    RUN_STARTED can have been stored although the answer was lost.
    """
    run, is_first = _read(run_id)
    if run.status != Status.RUNNING or run.journal.writer != generation:
        return None
    past = _past_of(run, is_first)
    if not run.journal.head and not vars(run)["has_unread"]:
        start = _start_of(run, past, begins=False, stores=False)
        if not start.prepared.superseded:
            claim = Claim(run_id, generation, 0, epochs.latest)
            taken = Taken(claim, vars(run)["has_questions"])
            return _claimed(run, taken, run.started_at or clock.now(), start)
    return _begun(run, generation, past)


def _begun(run: Run, generation: int, past: Past) -> Claimed | None:
    """``of_thread`` for a run that changes the stored history of its thread.

    With the first events, in one transaction and under the lock of the log: a process that takes
    the log over finds all of it, or prevents it.
    """
    now = run.started_at or clock.now()
    with transaction.atomic():
        log = Journal.objects.filter(pk=run.pk, writer=generation, closed_at=None)
        row = log.select_for_update(no_key=True).first()
        if row is None:
            return None
        start = _start_of(run, past, begins=True)
        taken = Taken(Claim(run.pk, generation, row.head, epochs.latest), has_questions=True)
        if row.head:
            return replace(_claimed(run, taken, now, start), opening=None)
        return _claimed(run, _begin(taken, start.records), now, start)


def _first_run(row: Mapping[str, Any]) -> Run:
    """The run of such a row; what it does not hold is as in every run that begins."""
    team = known_rows.team(row["team"], row["team_version"])
    run = Run(
        journal_id=row["run"],
        team=team,
        thread=Thread(
            id=row["thread"],
            team=team,
            thread_id=row["thread_name"],
            created_by=row["created_by"],
            creator=row["creator"],
            visibility=row["visibility"],
        ),
        agent=known_rows.agent(row["agent"], row["agent_version"]),
        run_id=row["run_name"],
        attempt=row["run_attempt"],
        tries=row["run_tries"],
        repeats_id=row["repeats"],
        parent_run_id=row["parent_name"],
        protocol_version=row["version"],
        input=row["input"],
        context=row["context"],
        worker=row["worker"],
        traceparent=row["traceparent"],
        started_by=row["started_by"],
        starter=row["starter"],
    )
    run.created_at = row["created_at"]
    for instance in (run, run.thread):
        instance._state.adding, instance._state.db = False, connection.alias
    return run


def _past_of(run: Run, is_first: bool) -> Past:
    return Past(Fold(), 0) if is_first else history.measured(run.thread_id, run.thread)


def _read(run_id: UUID) -> tuple[Run, bool]:
    """The run with what its executor needs, and whether it is alone in its thread so far."""
    run = _with_all().first(run_id)
    if run is None:
        raise Run.DoesNotExist
    has_others: bool = vars(run)["has_others"]
    return run, not has_others and not hasattr(run.thread, "history")


@cache
def _with_all() -> Compiled[Run]:
    # Not only those with a lower id: the clocks of two web machines may differ.
    others = (
        Run.objects.of_one_thread().filter(thread=OuterRef("thread")).exclude(pk=OuterRef("pk"))
    )
    rows = Run.objects.already_found().select_related(
        "journal", "agent", "thread__history", "team__limits"
    )
    facts = rows.annotate(
        has_others=Exists(others),
        has_budgets=Exists(Budget.objects.filter(team=OuterRef("team"))),
        has_questions=Exists(Interrupt.objects.filter(thread=OuterRef("thread"))),
        has_unread=Exists(messages.unread_before(OuterRef("thread"), OuterRef("pk"))),
    )
    return Compiled(lambda pk: facts.filter(pk=pk), uuid4())


def _take(run_id: UUID, at: datetime, records: Sequence[Record] = ()) -> Taken | None:
    """Claim a run; None if its journal is closed. Waits a second for its lock. Raises NotQueued.

    ``records`` begin its log, in the same message.
    """
    statement = CLAIM
    values: dict[str, Any] = {"run": run_id, "at": at, "from": leading_to(Status.RUNNING)}
    if records:
        beginning, more = journal.beginning(run_id, records)
        statement, values = f"{CLAIM}; {beginning}", values | more
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            row = cursor.fetchone()
    except DatabaseError as error:
        if getattr(error.__cause__, "sqlstate", None) != NOT_QUEUED:
            raise
        raise NotQueued from None
    if row is None:
        return None
    claim = Claim(run_id, row[0], row[1] + len(records), epochs.learn(row[3]))
    return Taken(claim, row[2])


def _begin(taken: Taken, records: Sequence[Record]) -> Taken:
    """Begin the log with these records, in the transaction of the claim."""
    if not records:
        return taken
    with connection.cursor() as cursor:
        cursor.execute(*journal.beginning(taken.claim.journal_id, records))
    return taken._replace(claim=taken.claim._replace(head=taken.claim.head + len(records)))


def _start_of(run: Run, past: Past, begins: bool, *, stores: bool = True) -> Beginning:
    # Those of earlier runs, which have all ended: since the run was read there are no more.
    carried = messages.carry(run) if vars(run).get("has_unread") else ()
    prepared, limits = history.prepare(run, past, carried, stores=stores), limits_of(run.team)
    if not begins:
        return Beginning(prepared, limits, None, [])
    intake = intakes.new(Intake, run, limits, prepared.echo, prepared.history)
    return Beginning(prepared, limits, intake, intakes.opening(intake, prepared.input["state"]))


def _claimed(run: Run, taken: Taken, now: datetime, start: Beginning) -> Claimed:
    run.status, run.started_at = Status.RUNNING, now
    questions = interrupts.to_repeat(run) if taken.has_questions else []
    claim, opening = taken.claim, None
    if start.records:
        opening = Batch(
            run.pk, claim.generation, claim.head + 1 - len(start.records), start.records,
            claim.epoch,
        )  # fmt: skip
    return Claimed(claim, run, start.prepared, start.limits, questions, start.intake, opening)
