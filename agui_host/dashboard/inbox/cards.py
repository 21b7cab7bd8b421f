"""Questions as templates show them: with a form for people who can answer, or the outcome."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Left

from agui_host.backends.postgres import clock
from agui_host.dashboard.inbox.decisions import form_of, outcome, size_of
from agui_host.dashboard.inbox.form import AnswerForm, schema_of
from agui_host.dashboard.inbox.indented import LONGEST, indented, rows
from agui_host.protocol.questions import table
from agui_host.protocol.questions.decision import decision_of
from agui_host.protocol.questions.parts import Option, choice_of, parts_of
from agui_host.protocol.strict_json import dumps_any
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.access.notices import turns
from runs.models import Interrupt, InterruptStatus, Run
from runs.models.short import is_long, short, value

MOST = 50
MOST_ENTRIES = 30
LONG = ("question", "response_schema", "answer")
"""Columns of which a list shows short values only."""
MOST_BYTES = 1_000_000
"""Bytes of open questions that the page of their run shows whole, and the first one in any case."""
MOST_FIELDS = 1_500
"""Fields of forms on one page; a form has at most 400."""
CUT = ("message", "reason")
BEGINNING = 4_001
"""Characters of a message that a list reads: one more than a card shows."""


@dataclass(slots=True)
class Card:
    """A question, its state, and the visitor's possible actions.

    ``is_long``: too long for a list, which shows its beginning and leads to its run. ``form`` is
    None if it is no longer open or the visitor cannot answer it. ``verdict`` is the word of the
    button that answered it; ``entries`` are the members of the answer, as text.
    """

    question: Interrupt
    state: str
    is_long: bool = False
    form: AnswerForm | None = None
    verdict: str = ""
    entries: list[tuple[str, str]] = field(default_factory=list)
    problem: str = ""
    fields: int = 0

    @property
    def is_open(self) -> bool:
        """Whether the question can still be answered."""
        return self.state == InterruptStatus.OPEN

    @property
    def claimed_by(self) -> str:
        """The label of the person who is answering it now; empty for none."""
        return self.question.claimed_by if turns.is_claimed(self.question) else ""

    @property
    def schema(self) -> str:
        """The schema of the answer as indented JSON."""
        return indented(schema_of(self.question) or {})

    @property
    def metadata(self) -> str:
        """The agent's data with the question: for a tool call, the call."""
        value = json.loads(self.question.question).get("metadata")
        return indented(value) if value else ""

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The same as names and texts, for people who read no JSON; none if there are many."""
        return rows(json.loads(self.question.question).get("metadata"))

    @property
    def last_words(self) -> list[tuple[str, str]]:
        """The last words to the run and its last ones, each with a label: the context in short."""
        run = self.question.run
        by = f"end:{run.end_user}" if run.end_user else run.started_by
        return [
            (who, text) for who, text in ((by, run.asked), (run.agent.slug, run.answered)) if text
        ]


def card(
    principal: Principal,
    question: Interrupt,
    form: AnswerForm | None = None,
    room: int = MOST_FIELDS,
) -> Card:
    """``form``: a sent form that comes back with its errors. ``room``: for its fields."""
    state = _state(question)
    access.faced(principal, question.run)
    shape = Card(question, state, _shorten(question))
    if shape.is_long:
        return shape
    if state == InterruptStatus.OPEN:
        if access.may(principal, "answer", question.run):
            approval = table.approval_of(_wire(question))
            shape.fields = size_of(approval)
            shape.is_long = form is None and room < shape.fields
            if not shape.is_long:
                shape.form = form or form_of(question, approval, None)
    elif state == InterruptStatus.ANSWERED:
        shape.verdict, shape.entries = _outcome(question)
    return shape


def light(rows: QuerySet[Interrupt]) -> QuerySet[Interrupt]:
    """Questions for a list, without long members."""
    beginnings = {f"beginning_of_{name}": Left(name, BEGINNING) for name in CUT}
    return short(rows, *LONG).defer(*LONG, *CUT).annotate(**beginnings)


def of_run(
    principal: Principal, run: Run, form: AnswerForm | None = None, problem: str = ""
) -> list[Card]:
    """The questions that a run ended with; of a question that another run has asked again, none.

    Open ones are whole, so that they can be answered, within ``MOST_BYTES``.
    """
    return of_rows(principal, whole(access.run_interrupts(run)), form, problem)


def whole(rows: QuerySet[Interrupt]) -> list[Interrupt]:
    """These questions, at most ``MOST``, the open ones whole within ``MOST_BYTES``."""
    questions = list(light(rows)[:MOST])
    complete = {row.pk: row for row in rows.filter(pk__in=_whole(questions))}
    return [complete.get(row.pk, row) for row in questions]


def of_rows(
    principal: Principal, rows: Iterable[Interrupt], form: AnswerForm | None, problem: str
) -> list[Card]:
    """A card for each question; that of ``form`` shows it and its ``problem``."""
    own = form.question.pk if form else None
    rows = [form.question if form and row.pk == own and _is_cut(row) else row for row in rows]
    cards: list[Card] = []
    room = MOST_FIELDS
    for row in rows:
        shape = card(principal, row, form if row.pk == own else None, room)
        room -= 0 if shape.form is None else shape.fields
        shape.problem = problem if row.pk == own else ""
        cards.append(shape)
    return cards


def stamp(cards: Iterable[Card]) -> str:
    """The version that an open page shows: changes with the state of any question."""
    return ".".join(f"{each.state}{each.question.answering_run_id or ''}" for each in cards)


def stamp_of(run: Run) -> str:
    """The stamp of a run's questions now, without reading them."""
    values = access.run_interrupts(run).values("status", "expires_at", "answering_run_id")[:MOST]
    return stamp_of_rows(Interrupt(**row) for row in values)


def stamp_of_rows(rows: Iterable[Interrupt]) -> str:
    """``stamp`` of questions that are no cards."""
    return ".".join(f"{_state(row)}{row.answering_run_id or ''}" for row in rows)


def _state(question: Interrupt) -> str:
    return InterruptStatus.EXPIRED if question.late(clock.now()) else question.status


def _whole(rows: Iterable[Any]) -> list[UUID]:
    """The open questions that are long, and shown whole on the page of their run."""
    chosen: list[UUID] = []
    total = 0
    for row in rows:
        if row.status == InterruptStatus.OPEN and _is_cut(row):
            total += sum(getattr(row, f"{name}_bytes") or 0 for name in LONG)
            if chosen and total > MOST_BYTES:
                break
            chosen.append(row.pk)
    return chosen


def _is_cut(row: Any) -> bool:
    return hasattr(row, "short_question") and any(is_long(row, name) for name in LONG)


def _shorten(question: Any) -> bool:
    """Give a question of ``light`` the members that a card shows; whether any was cut."""
    if not hasattr(question, "short_question"):
        return False
    for name in CUT:
        setattr(question, name, getattr(question, f"beginning_of_{name}"))
    question.question = value(question, "question") or "{}"
    question.response_schema, question.answer = (value(question, name) for name in LONG[1:])
    return _is_cut(question)


def _wire(question: Interrupt) -> dict[str, Any]:
    return dict(json.loads(question.question))


def _outcome(question: Interrupt) -> tuple[str, list[tuple[str, str]]]:
    answer = json.loads(question.answer or "{}")
    schema, approval = schema_of(question), table.approval_of(_wire(question))
    if "payload" not in answer:
        return "approved" if schema is None else "", []
    if approval is not None and not approval.by_schema:
        return outcome(approval, answer)
    payload = answer["payload"]
    parts = parts_of(schema or {})
    choice = choice_of(parts) if schema is not None else None
    if schema is None and (decision := decision_of(payload, table.reason_of(answer))):
        rest = [("Reason", decision.reason)] if decision.reason else []
        if decision.arguments is not None:
            rest.append(("Arguments", indented(decision.arguments)))
        return "Approve" if decision.approved else "Reject", rest
    if schema is None and payload is True:
        return "Approve", []
    if isinstance(payload, dict):
        verdict = _word(choice.options, payload.get(choice.name or "")) if choice else ""
        labels = {part.name: part.label for part in parts}
        rest = [
            (str(labels.get(name, name))[:200], _text(value))
            for name, value in payload.items()
            if not (verdict and choice and name == choice.name)
        ]
        return verdict, rest[:MOST_ENTRIES]
    verdict = _word(choice.options, payload) if choice else ""
    return verdict, [] if verdict else [("Answer", _text(payload))]


def _word(options: tuple[Option, ...], value: Any) -> str:
    for option in options:
        if option.value == value and type(option.value) is type(value):
            return option.label
    return ""


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else dumps_any(value)
    return text[:LONGEST]
