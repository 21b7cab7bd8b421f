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
from django.conf import settings
from django.db.models import QuerySet

from agui_host.backends.postgres import clock
from agui_host.errors import Conflict
from agui_host.protocol.errors import Invalid
from agui_host.protocol.fold.inherited import ASKED_AS, MARK, mark_of
from agui_host.protocol.input import legacy_answer
from agui_host.protocol.intake.response_schema import ResponseSchema, Unusable
from agui_host.protocol.questions import delivery, table
from agui_host.protocol.questions.decision import Undecidable
from agui_host.protocol.strict_json import dumps, size_of
from agui_host.teams import audit
from agui_host.teams.actors import Acting
from agui_host.teams.models import Team
from runs.lifecycle import history, interrupts
from runs.lifecycle.budgets import asking as budget_question
from runs.lifecycle.statements import new_run
from runs.models import ACTIVE, Interrupt, InterruptStatus, Run, Status, Thread

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

    ``resume`` is the agent's part: these answers, those stored before, and ``cancelled`` for a
    question without an answer in time.
    """

    resume: list[Answer] = field(default_factory=list)
    covered: list[Interrupt] = field(default_factory=list)
    fresh: list[tuple[Interrupt, Answer]] = field(default_factory=list)
    answered_by: Run | None = None

    def applied(self, body: dict[str, Any]) -> dict[str, Any]:
        """The RunAgentInput with that ``resume``, as the frameworks that asked expect it."""
        if not self.resume:
            return {name: value for name, value in body.items() if name != "resume"}
        questions = [json.loads(row.question) for row in self.covered]
        if all(delivery.SPECIAL.isdisjoint(question) for question in questions):
            return {**body, "resume": self.resume}
        return delivery.delivered(body, zip(questions, self.resume, strict=True))

    def record(self, run: Run) -> None:
        """Store the answers as brought by ``run``, in the transaction that makes it.

        Raises InterruptExpired, or InterruptAnswered for a row that has since changed.
        """
        for row, entry in self.fresh:
            store(row, entry, new_run.starter_of(run))
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


def brought(thread: Thread | None, body: Mapping[str, Any]) -> list[Answer]:
    """The answers that an input brings: its ``resume``, or the meaning of a legacy answer here.

    A legacy answer is for all open questions of the thread. If there are none, it is for the
    questions that a run answers right now, so that the same answer twice is one; else it is the
    agent's own affair.
    """
    entries: list[Answer] = body.get("resume") or []
    value = legacy_answer.value_of(body)
    if entries or value is None or thread is None:
        return entries
    rows, now = list(interrupts.newest(thread.pk)), clock.now()
    waiting = [row for row in rows if row.missing(now)] or [
        row for row in rows if row.answering_run and row.answering_run.status in ACTIVE
    ]
    names = [json.loads(row.question)["id"] for row in waiting]
    answers = legacy_answer.entries(value, names)
    is_for_all = len(answers) > 1 and answers[-1].get("payload") is value
    if is_for_all and len(answers) * size_of(value) > settings.AGUI_MAX_BODY_BYTES:
        raise AnswerInvalid("One answer to so many questions is too long; answer each of them.")
    return answers


def continues(thread: Thread, twin: Run, body: Mapping[str, Any]) -> bool:
    """Whether a legacy answer, which no question of ours waits for, can continue ``twin``.

    That is the newest run of its runId, which may have asked by a CUSTOM event and ended plainly.
    Under the thread's lock: of two different answers at once, the second finds the run of the
    first.
    """
    if legacy_answer.value_of(body) is None or twin.status in ACTIVE or twin.interrupts.exists():
        return False
    if twin.status in (Status.FAILED, Status.CANCELLED):
        return True
    if not legacy_answer.is_answering(json.loads(twin.input or "{}")):
        return True
    return legacy_answer.answers_one_of(body, history.current(thread.pk).questions)


def check(team: Team, thread_id: str, body: Mapping[str, Any]) -> Checked:
    """Check answers against their schemas, before taking the thread's lock: it can take a while."""
    if not legacy_answer.is_answering(body):
        return {}
    thread = None
    if not body.get("resume"):
        thread = Thread.objects.for_team(team).filter(thread_id=thread_id).first()
    if not (resume := brought(thread, body)):
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
    question = json.loads(row.question)
    try:
        entry = table.fitted(question, entry)
        schema = ResponseSchema(table.native_schema(question) or {})
    except Undecidable as reason:
        return [{"path": "$", "message": str(reason)}]
    except Unusable as reason:
        log.warning("interrupts.unusable_schema", interrupt=str(row.pk), reason=str(reason))
        return []
    complaints = schema.problems(entry.get("payload"))
    remedy = table.remedy(question, entry) if complaints else ""
    return [{"path": "$", "message": remedy}, *complaints] if remedy else complaints


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
    entries = {name: fitted(row, entries[name]) for name, row in named.items()}
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
        resume=[_as_asked(row, answer_of(row, entries.get(row.interrupt_id))) for row in covered],
        covered=covered,
        fresh=[(row, entries[row.interrupt_id]) for row in fresh],
    )


def fitted(row: Interrupt, entry: Answer) -> Answer:
    """The entry with the payload that the agent reads; as it came if the question refuses it."""
    try:
        return table.fitted(json.loads(row.question), entry)
    except Undecidable:
        return entry


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
    if row.interrupt_id.startswith(budget_question.PREFIX):
        budget_question.answered(row.team, row.interrupt_id, entry, by)
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


def _as_asked(row: Interrupt, answer: Answer) -> Answer:
    """The answer in the terms of the agent that asked: by the id that it gave it."""
    if MARK not in row.question:
        return answer
    mark = mark_of(json.loads(row.question))
    name = mark.get(ASKED_AS)
    return answer | {"interruptId": name} if isinstance(name, str) else answer


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
