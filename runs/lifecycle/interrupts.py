"""Interrupts: the questions that runs end with, from the run that asks to the run that answers.

- open → answered or cancelled: by the ``resume`` of a run, or one by one (``resume.py``)
- open → expired: its time has passed; it still accepts ``cancelled``
- back to open: the run that brought the answer failed, or was cancelled before it began

Only the newest interrupted run of a thread has questions that still need answers.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet, Subquery

from agui_host.backends.postgres import clock
from agui_host.protocol.questions import table
from agui_host.protocol.strict_json import dumps
from agui_host.teams.models import Team
from runs.models import ACTIVE, Interrupt, InterruptStatus, Run, Status, without_bodies


def settle(run_id: UUID, status: Status, terminal: dict[str, Any]) -> None:
    """Update questions for a run's end; in the transaction that stores that end."""
    if status is Status.INTERRUPTED:
        # The role that appends to journals may not read the pieces of a long input.
        run = without_bodies(Run.objects.already_found()).get(pk=run_id)
        _ask(run, terminal["outcome"].get("interrupts", []))
    brought = Interrupt.objects.already_found().filter(answering_run=run_id)
    if status is Status.CANCELLED:
        # A run that began may have acted on the answers.
        brought = brought.filter(answering_run__started_at=None)
    if status in (Status.FAILED, Status.CANCELLED):
        brought.update(
            status=InterruptStatus.OPEN,
            answering_run=None,
            answer=None,
            answered_by="",
            answered_at=None,
        )


def _ask(run: Run, questions: Sequence[dict[str, Any]]) -> None:
    """Make rows for new questions; the rows of those that ``run`` repeats move to it."""
    repeated = outstanding(run)
    if repeated:
        standing = without_bodies(newest(run.thread_id), "answering_run__")
        locked = [row.pk for row in standing.select_for_update(of=("self",))]
        Interrupt.objects.already_found().filter(pk__in=locked).update(run=run)
    known = {row.interrupt_id for row in repeated}
    rows = [_row(run, question) for question in questions]
    Interrupt.objects.bulk_create(row for row in rows if row.interrupt_id not in known)


def _row(run: Run, question: dict[str, Any]) -> Interrupt:
    schema = table.response_schema(question)
    return Interrupt(
        team_id=run.team_id,
        thread_id=run.thread_id,
        run=run,
        interrupt_id=storable(question["id"]),
        reason=storable(question["reason"]),
        message=storable(question.get("message", "")),
        tool_call_id=storable(question.get("toolCallId", "")),
        response_schema=None if schema is None else dumps(schema),
        expires_at=_timestamp(question.get("expiresAt", "")),
        question=dumps(question),
    )


def storable(text: str) -> str:
    """The text as a column can store it; the exact one is in ``question``."""
    return text.replace("\x00", "\ufffd")


def _timestamp(text: str) -> datetime | None:
    """ISO 8601, in UTC if it names no zone; None if it cannot be parsed."""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def outstanding(run: Run) -> list[Interrupt]:
    """The questions that are unanswered when it is ``run``'s turn.

    One that a later run will answer counts: a run that waits before that one must not act either.
    """
    return [
        row
        for row in without_bodies(newest(run.thread_id), "answering_run__")
        if row.status == InterruptStatus.OPEN
        or (
            row.answering_run is not None
            and row.answering_run != run
            and row.answering_run.status in ACTIVE
        )
    ]


def to_repeat(run: Run) -> list[dict[str, Any]]:
    """The questions that ``run`` must end with instead of acting; called when it is claimed."""
    standing, now = outstanding(run), clock.now()
    expired = [row.pk for row in standing if row.late(now)]
    if expired:
        expire_rows(expired)
    return [json.loads(row.question) for row in standing if row.pk not in expired]


def expire() -> int:
    """Expire every open question whose time has passed; returns how many."""
    past = Interrupt.objects.of_any_team().filter(
        status=InterruptStatus.OPEN, expires_at__lte=clock.now()
    )
    with transaction.atomic():
        # A locked row is being answered or asked again; the next sweep sees the outcome.
        free = past.select_for_update(skip_locked=True).values_list("pk", flat=True)
        return expire_rows(list(free))


def expire_rows(keys: list[UUID]) -> int:
    """Expire those of these questions that are still open; returns how many."""
    rows = Interrupt.objects.already_found().filter(pk__in=keys, status=InterruptStatus.OPEN)
    return rows.update(status=InterruptStatus.EXPIRED)


def asker(team: Team, thread_id: str) -> str | None:
    """The slug of the agent that asked the thread's newest questions."""
    rows = Interrupt.objects.for_team(team).filter(thread__thread_id=thread_id)
    slug = rows.order_by("-run_id").values_list("run__agent__slug", flat=True).first()
    return str(slug) if slug else None


def asked_by(run: Run, name: str) -> UUID | None:
    """The question that ``run`` asked under its own id; None if there is none.

    A question that is asked again belongs to the run that asked it last.
    """
    rows = Interrupt.objects.of_one_thread().filter(
        thread=run.thread_id, interrupt_id=storable(name), run_id__gte=run.pk
    )
    return rows.order_by("run_id").values_list("pk", flat=True).first()


def ended_with(run: Run) -> QuerySet[Interrupt]:
    """The questions that ``run`` ended with, in the order asked.

    If later runs have only asked them again, the last of those has the rows.
    """
    rows = Interrupt.objects.of_one_thread().filter(thread=run.thread_id)
    if run.status != Status.INTERRUPTED:
        return rows.none()
    holder = rows.filter(run_id__gte=run.pk).order_by("run_id").values("run_id")[:1]
    return rows.filter(run=Subquery(holder)).order_by("pk")


def hold(run: Run) -> bool:
    """Whether no run after ``run`` could act before one that brought the answers.

    Once all its questions have expired, any run acts.
    """
    return ended_with(run).exclude(status=InterruptStatus.EXPIRED).exists()


def newest(thread: UUID) -> QuerySet[Interrupt]:
    """The questions of the thread's newest run that asked any, in the order asked."""
    newest_run = Interrupt.objects.filter(thread=thread).order_by("-run_id").values("run_id")[:1]
    rows = Interrupt.objects.of_one_thread().filter(run=Subquery(newest_run)).order_by("pk")
    return rows.select_related("answering_run")
