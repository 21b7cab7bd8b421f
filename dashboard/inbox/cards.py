"""Questions as templates show them: with a form for those who may answer, else with the outcome."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Left

from backends.postgres import clock
from dashboard.inbox.form import AnswerForm
from dashboard.inbox.indented import LONGEST, indented
from dashboard.inbox.parts import Option, choice_of, parts_of
from protocol.strict_json import dumps_any
from runs.access import access
from runs.models import Interrupt, InterruptStatus, Run
from runs.models.short import is_long, short, value
from teams.authentication import Principal

MOST = 50
MOST_ENTRIES = 30
LONG = ("question", "response_schema", "answer")
"""Columns of which a list shows short values only."""
MOST_BYTES = 1_000_000
"""Bytes of open questions that the page of their run shows whole, and the first one in any case."""
CUT = ("message", "reason")
BEGINNING = 4_001
"""Characters of a message that a list reads: one more than a card shows."""


@dataclass(slots=True)
class Card:
    """A question, its state, and what the page's visitor can do about it.

    ``is_long``: too long for a list, which shows its beginning and leads to its run. ``form`` is
    None if it is no longer open or the visitor may not answer it. ``verdict`` is the word of the
    button that answered it; ``entries`` are the members of the answer, as text.
    """

    question: Interrupt
    state: str
    is_long: bool = False
    form: AnswerForm | None = None
    verdict: str = ""
    entries: list[tuple[str, str]] = field(default_factory=list)
    problem: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the question can still be answered."""
        return self.state == InterruptStatus.OPEN

    @property
    def schema(self) -> str:
        """The schema of the answer as indented JSON."""
        return indented(json.loads(self.question.response_schema or "{}"))

    @property
    def metadata(self) -> str:
        """What the agent sent with the question: for a tool call, the call."""
        value = json.loads(self.question.question).get("metadata")
        return indented(value) if value else ""


def card(principal: Principal, question: Interrupt, form: AnswerForm | None = None) -> Card:
    """``form``: one that was sent and comes back with its errors."""
    state = _state(question)
    shape = Card(question, state, _shorten(question))
    if shape.is_long:
        return shape
    if state == InterruptStatus.OPEN:
        if access.may(principal, "answer", question.run):
            shape.form = form or AnswerForm(question)
    elif state == InterruptStatus.ANSWERED:
        shape.verdict, shape.entries = _outcome(question)
    return shape


def light(rows: QuerySet[Interrupt]) -> QuerySet[Interrupt]:
    """Questions for a list, without what may be long."""
    beginnings = {f"beginning_of_{name}": Left(name, BEGINNING) for name in CUT}
    return short(rows, *LONG).defer(*LONG, *CUT).annotate(**beginnings)


def of_run(
    principal: Principal, run: Run, form: AnswerForm | None = None, problem: str = ""
) -> list[Card]:
    """The questions that a run ended with; of one that another run has asked again, none.

    Open ones are whole, so that they can be answered, within ``MOST_BYTES``.
    """
    rows = list(light(access.run_interrupts(run))[:MOST])
    whole = {row.pk: row for row in access.run_interrupts(run).filter(pk__in=_whole(rows))}
    return of_rows(principal, [whole.get(row.pk, row) for row in rows], form, problem)


def of_rows(
    principal: Principal, rows: Iterable[Interrupt], form: AnswerForm | None, problem: str
) -> list[Card]:
    """A card for each question; that of ``form`` shows it and its ``problem``."""
    own = form.question.pk if form else None
    rows = [form.question if form and row.pk == own and _is_cut(row) else row for row in rows]
    cards = [card(principal, row, form if row.pk == own else None) for row in rows]
    for each in cards:
        if each.question.pk == own:
            each.problem = problem
    return cards


def stamp(cards: Iterable[Card]) -> str:
    """What an open page says it shows: changes with the state of any question."""
    return ".".join(f"{each.state}{each.question.answering_run_id or ''}" for each in cards)


def stamp_of(run: Run) -> str:
    """The stamp of a run's questions now, without reading them."""
    values = access.run_interrupts(run).values("status", "expires_at", "answering_run_id")[:MOST]
    rows = (Interrupt(**row) for row in values)
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
    """Give a question of ``light`` what a card shows of it; whether that is not all."""
    if not hasattr(question, "short_question"):
        return False
    for name in CUT:
        setattr(question, name, getattr(question, f"beginning_of_{name}"))
    question.question = value(question, "question") or "{}"
    question.response_schema, question.answer = (value(question, name) for name in LONG[1:])
    return _is_cut(question)


def _outcome(question: Interrupt) -> tuple[str, list[tuple[str, str]]]:
    answer = json.loads(question.answer or "{}")
    if "payload" not in answer:
        return "approved" if question.response_schema is None else "", []
    payload = answer["payload"]
    schema = json.loads(question.response_schema or "{}")
    parts = parts_of(schema)
    choice = choice_of(parts) if question.response_schema is not None else None
    if question.response_schema is None and payload is True:
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
