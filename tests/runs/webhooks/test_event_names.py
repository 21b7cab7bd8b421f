"""A status has one event name: PostgreSQL's triggers, the feed and the messages use the same."""

from datetime import UTC, datetime
from typing import Any

import pytest

from runs.models import (
    BY_EVENT,
    BY_INTERRUPT_EVENT,
    ENDED,
    FeedEntry,
    Interrupt,
    InterruptStatus,
    Run,
    Status,
    Webhook,
    WebhookDelivery,
)
from runs.models.webhook import EVENTS
from tests.cast import Cast, start
from tests.runs.asking import asking

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 11, 1, tzinfo=UTC)
ANSWER: dict[str, Any] = {"answer": "{}", "answered_by": "user:bob", "answered_at": NOW}


def hook(cast: Cast) -> None:
    Webhook.objects.create(
        team=cast.team, url="https://example.com/", events=list(EVENTS),
        created_by="user:bob", creator=cast.bob.principal.actor_id,
    )  # fmt: skip


def newest() -> tuple[str, str]:
    """The type of the newest delivery, and the name of the newest entry of the feed."""
    delivery = WebhookDelivery.objects.latest("id")
    return delivery.type, FeedEntry.objects.latest("id").event


@pytest.mark.parametrize("status", [status for status in Status if status != Status.QUEUED])
def test_the_event_of_a_run(cast: Cast, status: Status) -> None:
    hook(cast)
    run = start(cast.alice)
    fields: dict[str, Any] = {"ended_at": NOW} if status in ENDED else {}
    fields |= {"error_code": "error"} if status == Status.FAILED else {}
    Run.objects.filter(pk=run.pk).update(status=status, **fields)
    assert newest() == (status.event, status.event)
    assert BY_EVENT[status.event] is status


def test_a_new_run_is_in_the_feed_alone(cast: Cast) -> None:
    hook(cast)
    start(cast.alice)
    assert newest() == ("thread.created", Status.QUEUED.event)


@pytest.mark.parametrize("status", list(InterruptStatus))
def test_the_event_of_a_question(cast: Cast, status: InterruptStatus) -> None:
    hook(cast)
    asking(cast.alice, "q")
    if status != InterruptStatus.OPEN:
        is_answer = status in (InterruptStatus.ANSWERED, InterruptStatus.CANCELLED)
        Interrupt.objects.update(status=status, **(ANSWER if is_answer else {}))
    assert newest() == (status.event, status.event)
    assert BY_INTERRUPT_EVENT[status.event].event == status.event
    assert InterruptStatus.ANSWERED in BY_INTERRUPT_EVENT.values()


def test_the_names_are_the_published_ones() -> None:
    assert [status.event for status in Status] == [
        "run.created", "run.started", "run.succeeded", "run.interrupted", "run.cancelled",
        "run.failed",
    ]  # fmt: skip
    assert {status.event for status in InterruptStatus} == {
        "interrupt.opened", "interrupt.answered", "interrupt.expired"
    }  # fmt: skip
    assert len(set(EVENTS)) == 13
