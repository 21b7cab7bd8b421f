"""The body of a webhook's message: small, with links; the conversation only on request."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Case, F, When
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual

from agui_host.backends import epochs
from agui_host.links import absolute
from agui_host.protocol.strict_json import dumps
from runs.lifecycle import repetition
from runs.models import (
    BY_EVENT,
    BY_INTERRUPT_EVENT,
    ENDED,
    Comment,
    Interrupt,
    Notice,
    Run,
    Status,
    Thread,
    WebhookDelivery,
)
from runs.models.webhook import TEST

LONGEST = 65_536
"""Characters of contents; longer ones are left out."""
SHORT = 200


class Subject(NamedTuple):
    """The run of a message, and its result if that is short."""

    run: Run
    result: str | None


def subjects(deliveries: Iterable[WebhookDelivery]) -> dict[UUID, Subject]:
    """The runs that the deliveries are about, by key, without erased ones."""
    teams = {each.run: each.team_id for each in deliveries if each.run is not None}
    # A result can have megabytes, which no message has, and many messages are made at once.
    short = Case(When(LessThanOrEqual(Length("result"), LONGEST), then=F("result")))
    rows = (
        Run.objects.already_found()
        .filter(journal__in=list(teams))
        .select_related("thread", "agent")
        .defer("input", "context", "usage", "result")
        .annotate(short_result=short)
    )
    return {run.pk: Subject(run, run.short_result) for run in rows if run.team_id == teams[run.pk]}


def body(delivery: WebhookDelivery, subject: Subject | None, contents: bool) -> bytes | None:
    """The message; None without a subject: it has been erased."""
    data = _data(delivery, subject, contents)
    if data is None:
        return None
    timestamp = delivery.created_at.isoformat().replace("+00:00", "Z")
    message = {
        "type": delivery.type,
        "timestamp": timestamp,
        "epoch": epochs.latest,
        "data": data,
    }
    # Half of a character, which stored JSON may contain, becomes an escape of JSON again.
    return dumps(message).encode("utf-8", "backslashreplace")


def _data(
    delivery: WebhookDelivery, subject: Subject | None, contents: bool
) -> dict[str, Any] | None:
    if delivery.type == TEST:
        return {"webhook": str(delivery.webhook_id)}
    if delivery.notice is not None:
        return _notice(delivery)
    if subject is None:
        return None
    run = subject.run
    if delivery.type == "thread.created":
        return _thread(run.thread, run)
    if delivery.comment is not None:
        return _mention(delivery, run, contents)
    if delivery.interrupt is not None:
        return _interrupt(delivery, run, contents)
    return _run(delivery, subject, contents)


def _notice(delivery: WebhookDelivery) -> dict[str, Any] | None:
    rows = Notice.objects.filter(team=delivery.team_id, pk=str(delivery.notice))
    if (notice := rows.first()) is None:
        return None
    return {**notice.data, "links": {"page": absolute(notice.page)}}


def _ids(run: Run) -> dict[str, Any]:
    return {
        "id": str(run.pk),
        "run_id": run.run_id,
        "thread_id": run.thread.thread_id,
        "agent": run.agent.slug,
    }


def _run(delivery: WebhookDelivery, subject: Subject, contents: bool) -> dict[str, Any]:
    """The status is that of the event, whatever has become of the run since."""
    run = subject.run
    status = BY_EVENT[delivery.type]
    data = {**_ids(run), "status": status.value, "links": _links(run)}
    if status in ENDED:
        data["final"] = True
    if status == Status.FAILED:
        data |= _repetition(run)
        data["error"] = {"code": run.error_code}
        if contents:
            data["error"]["message"] = run.error_message
    if contents:
        data |= {"asked": run.asked or "", "answered": run.answered or ""}
    if contents and status == Status.SUCCEEDED:
        data |= _bounded("result", subject.result)
    return data


def _repetition(run: Run) -> dict[str, Any]:
    """Whether a failed run is the end, and the run that the host has started instead."""
    key = repetition.repeated_by(run)
    final = key is None and not repetition.is_due(run.pk)
    return {"final": final, "repeated_by": None if key is None else str(key)}


def _interrupt(delivery: WebhookDelivery, run: Run, contents: bool) -> dict[str, Any] | None:
    # By its id alone: a later run that asked again may have taken it over.
    rows = Interrupt.objects.filter(team=delivery.team_id, pk=str(delivery.interrupt))
    if (question := rows.first()) is None:
        return None
    data = {
        "id": str(question.pk),
        "status": BY_INTERRUPT_EVENT[delivery.type].value,
        "reason": question.reason[:SHORT],
        "expires_at": question.expires_at and question.expires_at.isoformat(),
        "run": _ids(run),
        "links": {
            "self": absolute(f"/api/v1/interrupts/{question.pk}"),
            "answer": absolute(f"/api/v1/interrupts/{question.pk}/answer"),
            "page": absolute(f"/runs/{run.pk}/"),
        },
    }
    if contents:
        data |= _bounded("question", question.question)
        data |= _bounded("answer", question.answer)
    return data


def _mention(delivery: WebhookDelivery, run: Run, contents: bool) -> dict[str, Any] | None:
    rows = Comment.objects.filter(team=delivery.team_id, pk=str(delivery.comment))
    if (comment := rows.prefetch_related("mentions__user").first()) is None:
        return None
    data = {
        "id": str(comment.pk),
        "seq": comment.seq,
        "author": comment.author,
        "mentions": sorted(row.user.get_username() for row in comment.mentions.all()),
        "run": _ids(run),
        "links": {
            "self": absolute(f"/api/v1/runs/{run.pk}/comments"),
            "page": absolute(f"/runs/{run.pk}/"),
        },
    }
    return data | {"text": comment.text} if contents else data


def _thread(thread: Thread, run: Run) -> dict[str, Any]:
    return {
        "id": str(thread.pk),
        "thread_id": thread.thread_id,
        "run": _ids(run),
        "links": {"self": absolute(f"/api/v1/threads/{thread.pk}")},
    }


def _links(run: Run) -> dict[str, str]:
    api = f"/api/v1/runs/{run.pk}"
    return {
        "self": absolute(api),
        "events": absolute(f"{api}/events"),
        "page": absolute(f"/runs/{run.pk}/"),
    }


def _bounded(name: str, stored: str | None) -> dict[str, Any]:
    """A member with stored JSON, unless there is none, or too much of it."""
    if stored is None or len(stored) > LONGEST:
        return {}
    return {name: json.loads(stored)}
