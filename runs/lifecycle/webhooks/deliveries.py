"""Deliveries on their way: who may be called now, with which result, and which are swept away.

A worker claims deliveries by moving their ``due_at`` beyond the longest try, in a separate
transaction: no lock is held while the receiver is called, and a worker that dies loses nothing.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Count

from agui_host.backends import metrics
from agui_host.backends.postgres import clock
from agui_host.security.secrets import SecretUnreadable
from agui_host.teams import audit, notices
from agui_host.teams.actors import HOST, Acting
from runs.lifecycle.webhooks import payloads, pushes, signing
from runs.lifecycle.webhooks.choice import Choice
from runs.models import DeliveryStatus, Webhook, WebhookDelivery
from runs.models.webhook import Stop

log = structlog.get_logger(__name__)

MARGIN = 5.0
"""Seconds that a try may take beyond AGUI_WEBHOOK_TIMEOUT: a database that is slow."""
JITTER = 0.1
ATTEMPTS, LONGEST_ERROR = 50, 200
"""How many outcomes a delivery remembers."""
SWEPT = 1_000
RETRIED = "retried"
"""A metric's label for a try that is to be repeated."""
GONE = 410
ERASED = "Its subject has been erased."
ELSEWHERE = "This run is not one of the task, or has been erased."
HEADERS = {"content-type": "application/json", "user-agent": "agui-run-host"}


@dataclass(frozen=True, slots=True)
class Call:
    """The request that posts a message to a webhook's address."""

    url: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a try: the receiver's ``status``, or an ``error`` for people.

    ``moot``: there is nothing left to deliver, whatever the receiver does.
    """

    at: datetime
    ms: int
    status: int | None = None
    error: str = ""
    moot: bool = False

    @property
    def success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def claim(busy: Sequence[WebhookDelivery], choice: Choice | None = None) -> list[WebhookDelivery]:
    """Claim what this worker may try in addition to ``busy``; ``choice`` is the worker's."""
    ids = (choice or Choice()).next(busy)
    if not ids:
        return []
    with transaction.atomic():
        now = clock.now()
        rows = WebhookDelivery.objects.of_any_team().filter(pk__in=ids, due_at__lte=now)
        # What another worker has locked, it is claiming.
        free_rows = rows.filter(status=DeliveryStatus.PENDING).select_for_update(
            skip_locked=True, of=("self",)
        )
        claimed = list(free_rows.select_related("webhook"))
        until = now + timedelta(seconds=settings.AGUI_WEBHOOK_TIMEOUT + MARGIN)
        rows.filter(pk__in=[row.pk for row in claimed]).update(due_at=until)
    for row in claimed:
        row.due_at = until
    return claimed


def call_of(delivery: WebhookDelivery) -> Call | Outcome:
    """The request for a claimed delivery; an Outcome if there is nothing that could be posted."""
    webhook, now = delivery.webhook, clock.now()
    of_task = webhook.task is not None
    try:
        if of_task:
            body = pushes.messages().body(delivery)
        else:
            body = payloads.body(delivery, webhook.contents)
        if body is None:
            error = ELSEWHERE if of_task else ERASED
            return Outcome(now, 0, error=error, moot=True)
        if of_task:
            proof = pushes.messages().headers(webhook)
        else:
            proof = signing.headers(webhook.secrets, str(delivery.pk), now, body)
    except SecretUnreadable:
        return Outcome(
            now, 0, error="The host can no longer read this webhook's secret: rotate it."
        )
    return Call(webhook.url, HEADERS | {"webhook-id": str(delivery.pk)} | proof, body)


def record(delivery: WebhookDelivery, outcome: Outcome) -> bool:
    """Store the result of a try; False if another worker has taken the delivery over since."""
    first, status, due_at = _next(delivery, outcome)
    entry = {
        "at": outcome.at.isoformat(),
        "status": outcome.status,
        "error": outcome.error[:LONGEST_ERROR],
        "ms": outcome.ms,
    }
    with transaction.atomic():
        rows = WebhookDelivery.objects.already_found().filter(
            pk=delivery.pk, status=DeliveryStatus.PENDING, due_at=delivery.due_at
        )
        stored = rows.update(
            status=status,
            tries=delivery.tries + 1,
            due_at=due_at,
            attempts=[*delivery.attempts, entry][-ATTEMPTS:],
            ended_at=None if status == DeliveryStatus.PENDING else clock.now(),
        )
        # The lease was over, and another worker tries by now: its outcome will count.
        if not stored:
            return False
        if not outcome.moot:
            _judge(delivery, outcome, first, gave_up=status == DeliveryStatus.FAILED)
            if status != DeliveryStatus.PENDING and delivery.type in pushes.ENDS:
                # Nothing follows the end of a task; its other runs would only be looked at.
                hooks = Webhook.objects.already_found().filter(pk=delivery.webhook_id)
                hooks.filter(task__isnull=False, enabled=True).update(
                    enabled=False, stopped=Stop.ENDED
                )
        state = RETRIED if status == DeliveryStatus.PENDING else status.value
        metrics.webhook_deliveries.labels(state).inc()
        return True


def _next(delivery: WebhookDelivery, outcome: Outcome) -> tuple[datetime, DeliveryStatus, datetime]:
    """When the first try of this round was, the new status, and when the next try is due."""
    first = outcome.at
    if delivery.tries:
        earlier = delivery.attempts[-min(delivery.tries, len(delivery.attempts))]
        first = datetime.fromisoformat(earlier["at"]).astimezone(UTC)
    if outcome.success:
        return first, DeliveryStatus.DELIVERED, delivery.due_at
    pauses = settings.AGUI_WEBHOOK_RETRIES
    if delivery.tries >= len(pauses) or outcome.moot or outcome.status == GONE:
        return first, DeliveryStatus.FAILED, delivery.due_at
    spread = random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  (not for secrets)
    pause = timedelta(seconds=pauses[delivery.tries] * spread)
    return first, DeliveryStatus.PENDING, clock.now() + pause


def _judge(delivery: WebhookDelivery, outcome: Outcome, first: datetime, *, gave_up: bool) -> None:
    """Remember whether the webhook works; disable a failing one."""
    rows = Webhook.objects.already_found().filter(pk=delivery.webhook_id)
    if outcome.success:
        rows.filter(failing_since__isnull=False).update(failing_since=None)
        return
    rows.filter(failing_since=None).update(failing_since=outcome.at)
    if outcome.status == GONE:
        _stop(rows, Stop.GONE, HOST)
    elif gave_up:
        # Nothing has been delivered since this delivery was first tried.
        _stop(rows.filter(failing_since__lte=first), Stop.FAILING, HOST)


def stop(webhook_id: UUID, reason: Stop, by: Acting | str) -> None:
    """Disable a webhook; what waits for it stays, and is delivered when it is enabled again."""
    _stop(Webhook.objects.already_found().filter(pk=webhook_id), reason, by)


def _stop(rows: Any, reason: Stop, by: Acting | str) -> None:
    with transaction.atomic():
        webhook = rows.filter(enabled=True).select_related("team").first()
        if webhook is None or not rows.filter(enabled=True).update(enabled=False, stopped=reason):
            return
        if webhook.task is not None:
            return  # The client's own, which the team's owners do not know.
        audit.record(by, webhook.team, "webhook.disabled", str(webhook.pk), reason=reason.value)
        if reason != Stop.PAUSED:
            notices.webhook_disabled(webhook.team, webhook.url, Stop(reason).value)


def sweep() -> int:
    """Delete some deliveries older than AGUI_WEBHOOK_RETENTION_DAYS; returns how many."""
    rows = WebhookDelivery.objects.of_any_team()
    before = clock.now() - timedelta(days=settings.AGUI_WEBHOOK_RETENTION_DAYS)
    old = rows.filter(created_at__lt=before).order_by("created_at").values_list("pk", flat=True)
    swept = rows.filter(pk__in=list(old[:SWEPT])).delete()[0]
    over = Webhook.objects.of_any_team().filter(thread__isnull=False, enabled=False)
    done = over.filter(created_at__lt=before).values_list("pk", flat=True)
    return swept + over.filter(pk__in=list(done[:SWEPT])).delete()[0]


def stop_overfull() -> int:
    """Disable the webhooks for which more than AGUI_WEBHOOK_BACKLOG deliveries wait."""
    waiting = WebhookDelivery.objects.of_any_team().filter(
        status=DeliveryStatus.PENDING, webhook__enabled=True
    )
    counts = waiting.order_by().values("webhook").annotate(number=Count("pk"))
    overfull = counts.filter(number__gt=settings.AGUI_WEBHOOK_BACKLOG)
    ids = list(overfull.values_list("webhook", flat=True))
    for webhook_id in ids:
        stop(webhook_id, Stop.BACKLOG, HOST)
    return len(ids)
