"""Resume: the answers to a thread's open questions, all with one run or stored one by one.

Answers are stored under the thread's lock, by conditional updates; the end of a run and the passing
of time change questions without that lock.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.db.models import QuerySet

from agui_project.errors import Conflict
from backends.postgres import clock
from protocol.errors import Invalid
from protocol.intake.response_schema import ResponseSchema, Unusable
from protocol.strict_json import dumps
from runs.lifecycle import interrupts
from runs.models import Interrupt, InterruptStatus, Run, Thread
from teams import audit
from teams.actors import Acting, Actor
from teams.models import Team

log = structlog.get_logger(__name__)

Answer = dict[str, Any]
"""One entry of a ``resume``: interruptId, status, payload?, metadata?."""


class InterruptUncovered(Conflict):
    """The thread has open questions that this resume does not answer."""

    code = "interrupt_uncovered"


class InterruptAnswered(Conflict):
    """This question was already answered, with a different answer."""

    code = "interrupt_answered"


class InterruptExpired(Conflict):
    """This question has expired; it can only be cancelled."""

    code = "interrupt_expired"


class AskedMeanwhile(Conflict):
    """A new question arrived while you answered; send the answer again."""

    code = "interrupt_asked_meanwhile"


class AnswerInvalid(Invalid):
    """The answer does not match the schema of the question."""

    code = "interrupt_answer_invalid"


@dataclass(frozen=True, slots=True)
class ResumePlan:
    """The outcome of a ``resume``: the answers a new run brings, or the run that brought them.

    ``resume`` is what the agent gets: these answers, those stored before, and ``cancelled`` for a
    question that nobody answered in time.
    """

    resume: list[Answer] = field(default_factory=list)
    covered: list[Interrupt] = field(default_factory=list)
    fresh: list[tuple[Interrupt, Answer]] = field(default_factory=list)
    answered_by: Run | None = None

    def applied(self, body: dict[str, Any]) -> dict[str, Any]:
        """The RunAgentInput with that ``resume``."""
        rest = {name: value for name, value in body.items() if name != "resume"}
        return rest | {"resume": self.resume} if self.resume else rest

    def repeats(self, interrupted: Run | None) -> bool:
        """Whether this answers ``interrupted``, so that its runId may be used once more.

        If it has no rows, a newer run repeated it and took over its questions.
        """
        if interrupted is None or not self.covered:
            return False
        return (
            any(row.run_id == interrupted.pk for row in self.covered)
            or not interrupted.interrupts.exists()
        )

    def record(self, run: Run) -> None:
        """Store the answers as brought by ``run``, in the transaction that makes it.

        Raises InterruptExpired, or InterruptAnswered for a row that changed meanwhile.
        """
        for row, entry in self.fresh:
            store(row, entry, Actor(run.started_by, run.starter))
        interrupts.expire_rows(
            [row.pk for row in self.covered if row.status == InterruptStatus.OPEN]
        )
        rows = Interrupt.objects.already_found().filter(
            pk__in=[row.pk for row in self.covered], answering_run=None
        )
        if rows.exclude(status=InterruptStatus.OPEN).update(answering_run=run) < len(self.covered):
            raise InterruptAnswered


Checked = Mapping[UUID, list[dict[str, str]]]
"""The problems of the answer to each question, by the question's row."""


def check(team: Team, thread_id: str, resume: Sequence[Answer]) -> Checked:
    """Check answers against their schemas, before taking the thread's lock: it may take a while."""
    if not resume:
        return {}
    entries = _by_id(resume)
    rows = _newest_by_name(
        Interrupt.objects.for_team(team).filter(thread__thread_id=thread_id), entries
    )
    return {row.pk: problems(row, entries[name]) for name, row in rows.items()}


def problems(row: Interrupt, entry: Answer) -> list[dict[str, str]]:
    """What in the answer does not match the schema of its question.

    Empty if the schema was accepted by an older host and cannot be checked.
    """
    if row.response_schema is None or entry["status"] != "resolved":
        return []
    try:
        schema = ResponseSchema(json.loads(row.response_schema))
    except Unusable as reason:
        log.warning("interrupts.unusable_schema", interrupt=str(row.pk), reason=str(reason))
        return []
    return schema.problems(entry.get("payload"))


def plan(thread: Thread, resume: Sequence[Answer], checked: Checked) -> ResumePlan:
    """Judge a ``resume`` under the thread's lock; nothing is written before ``record``.

    ``checked`` comes from ``check``. Raises InterruptUncovered, InterruptAnswered,
    InterruptExpired, AnswerInvalid, AskedMeanwhile. Entries for questions that were never asked
    here are left out with a warning.
    """
    if not resume:
        return ResumePlan()
    entries, now, newest = _by_id(resume), clock.now(), list(interrupts.newest(thread.pk))
    rows = Interrupt.objects.filter(thread=thread)
    known = _newest_by_name(rows, entries) | {row.interrupt_id: row for row in newest}
    if unknown := sorted(entries.keys() - known.keys()):
        log.warning("interrupts.unknown", thread=str(thread.pk), interrupts=unknown)
    named = {name: known[name] for name in entries if name in known}
    used = [row for name, row in named.items() if not is_new(row, entries[name], now, checked)]
    if used and len(used) == len(named):
        return ResumePlan(answered_by=max(used, key=lambda row: row.run_id).answering_run)
    others = [row for row in newest if row.interrupt_id not in named]
    if missing := [row.interrupt_id for row in others if row.missing(now)]:
        raise InterruptUncovered(details={"missing": missing})
    if not named:
        return ResumePlan()
    covered = [row for row in (*named.values(), *others) if row.answering_run is None]
    fresh = [row for row in covered if row.interrupt_id in named and row.answer is None]
    return ResumePlan(
        resume=[answer_of(row, entries.get(row.interrupt_id)) for row in covered],
        covered=covered,
        fresh=[(row, entries[row.interrupt_id]) for row in fresh],
    )


def store(row: Interrupt, entry: Answer, by: Acting) -> None:
    """The conditional update that stores an answer: a question is answered at most once.

    Every request that answers has the thread's lock, so only expiry can have been faster.
    """
    resolved = entry["status"] == "resolved"
    free = [InterruptStatus.OPEN] if resolved else [InterruptStatus.OPEN, InterruptStatus.EXPIRED]
    taken = (
        Interrupt.objects.already_found()
        .filter(pk=row.pk, status__in=free, answering_run=None)
        .update(
            status=InterruptStatus.ANSWERED if resolved else InterruptStatus.CANCELLED,
            answer=dumps(entry),
            answered_by=by.label,
            answered_at=clock.now(),
        )
    )
    if not taken:
        raise InterruptExpired(details={"interrupt_id": row.interrupt_id})
    audit.record(by, row.team, "interrupt.answered", str(row.pk), status=entry["status"])


def is_new(row: Interrupt, entry: Answer, now: datetime, checked: Checked) -> bool:
    """Whether this answer is new to the agent; False if a run has brought the same one."""
    where = {"id": str(row.pk), "interrupt_id": row.interrupt_id}
    if row.answer is not None:
        if not _same(entry, json.loads(row.answer)):
            raise InterruptAnswered(details=where)
    elif row.late(now):
        if entry["status"] != "cancelled":
            raise InterruptExpired(details=where)
    elif entry["status"] == "resolved" and row.response_schema is not None:
        if row.pk not in checked:
            raise AskedMeanwhile(details=where)
        if errors := checked[row.pk]:
            raise AnswerInvalid(details={**where, "errors": errors})
    return row.answering_run is None


def _same(one: Answer, other: Answer) -> bool:
    """Compared as text: to Python, ``true`` and ``1`` would be the same answer."""

    def text(entry: Answer) -> str:
        return json.dumps([entry["status"], entry.get("payload")], sort_keys=True)

    return text(one) == text(other)


def answer_of(row: Interrupt, entry: Answer | None = None) -> Answer:
    """The answer to a question: ``entry``, else the stored one, else a cancellation."""
    if entry is not None:
        return entry
    if row.answer is not None:
        return dict(json.loads(row.answer))
    return {"interruptId": json.loads(row.question)["id"], "status": "cancelled"}


def _by_id(resume: Sequence[Answer]) -> dict[str, Answer]:
    by_id: dict[str, Answer] = {}
    for entry in resume:
        name = interrupts.storable(entry["interruptId"])
        if not _same(by_id.setdefault(name, entry), entry):
            raise AnswerInvalid("The resume answers the same question twice.", details={"id": name})
    return by_id


def _newest_by_name(rows: QuerySet[Interrupt], names: dict[str, Answer]) -> dict[str, Interrupt]:
    rows = rows.filter(interrupt_id__in=names)
    rows = rows.select_related("answering_run").order_by("interrupt_id", "-run_id")
    return {row.interrupt_id: row for row in rows.distinct("interrupt_id")}
