"""Deliveries on their way: who may be called now, with which result, and which are swept away.

A worker claims deliveries by moving their ``due_at`` beyond the longest try, in a separate
transaction: no lock is held while the receiver is called, and a worker that dies loses nothing.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Count

from agui_host.backends import metrics
from agui_host.backends.postgres import clock
from agui_host.protocol.strict_json import dumps
from agui_host.security.secrets import SecretUnreadable
from agui_host.teams import audit, notices
from agui_host.teams.actors import HOST, Acting
from runs.lifecycle.webhooks import payloads, pushes, signing
from runs.lifecycle.webhooks.choice import Choice
from runs.lifecycle.webhooks.payloads import Subject
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
# The rows are locked in the order of their keys: two workers may hold a delivery each other lost.
DELIVERED = """
with done as (
    select d.id, each.attempts
      from unnest(%s::uuid[], %s::timestamptz[], %s::jsonb[]) each (id, due_at, attempts)
      join runs_webhookdelivery d on d.id = each.id and d.due_at = each.due_at
     where d.status = 'pending' order by d.id for no key update of d)
update runs_webhookdelivery delivery
   set status = 'delivered', tries = tries + 1, attempts = done.attempts, ended_at = now()
  from done where delivery.id = done.id
returning delivery.webhook_id
"""
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


def claim(
    busy: Sequence[WebhookDelivery], choice: Choice | None = None
) -> list[list[WebhookDelivery]]:
    """Claim what this worker may try in addition to ``busy``; ``choice`` is the worker's.

    Each list is for one call at a time. It has AGUI_WEBHOOK_TIMEOUT to begin its last try.
    """
    chains = (choice or Choice()).next(busy)
    if not chains:
        return []
    with transaction.atomic():
        now = clock.now()
        rows = WebhookDelivery.objects.of_any_team()
        rows = rows.filter(pk__in=[name for chain in chains for name in chain], due_at__lte=now)
        # What another worker has locked, it is claiming.
        free_rows = rows.filter(status=DeliveryStatus.PENDING).select_for_update(
            skip_locked=True, of=("self",)
        )
        claimed = {row.pk: row for row in free_rows.select_related("webhook")}
        until = now + timedelta(seconds=2 * settings.AGUI_WEBHOOK_TIMEOUT + MARGIN)
        rows.filter(pk__in=list(claimed)).update(due_at=until)
    for row in claimed.values():
        row.due_at = until
    mine = [[claimed[name] for name in chain if name in claimed] for chain in chains]
    return [chain for chain in mine if chain]


def calls_of(
    rows: Sequence[WebhookDelivery],
) -> Iterator[tuple[WebhookDelivery, Call | Outcome]]:
    """The requests for claimed deliveries; an Outcome where there is nothing to post.

    A delivery whose message cannot be made is left out: its lease runs out, and it is tried again.
    """
    subjects = payloads.subjects(row for row in rows if row.webhook.task is None)
    for row in rows:
        try:
            yield row, _call_of(row, subjects.get(row.run) if row.run else None)
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:
            log.warning("webhooks.try_failed", error=repr(error))


def _call_of(delivery: WebhookDelivery, subject: Subject | None) -> Call | Outcome:
    webhook, now = delivery.webhook, clock.now()
    of_task = webhook.task is not None
    try:
        if of_task:
            body = pushes.messages().body(delivery)
        else:
            body = payloads.body(delivery, subject, webhook.contents)
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


def record_all(
    tries: Sequence[tuple[WebhookDelivery, Outcome]], left: Sequence[WebhookDelivery]
) -> None:
    """Store the results of several tries, successes in one transaction.

    ``left``: claimed deliveries that were not tried, and can be tried now.
    """
    delivered = [each for each in tries if each[1].success and each[0].webhook.task is None]
    if delivered:
        _record_delivered(delivered)
    for delivery, outcome in tries:
        if not (outcome.success and delivery.webhook.task is None):
            record(delivery, outcome)
    for due_at in {delivery.due_at for delivery in left}:
        ids = [delivery.pk for delivery in left if delivery.due_at == due_at]
        rows = WebhookDelivery.objects.already_found().filter(pk__in=ids, due_at=due_at)
        rows.filter(status=DeliveryStatus.PENDING).update(due_at=clock.now())


def _record_delivered(tries: Sequence[tuple[WebhookDelivery, Outcome]]) -> None:
    rows = [
        (row.pk, row.due_at, dumps([*row.attempts, _entry(outcome)][-ATTEMPTS:]))
        for row, outcome in tries
    ]
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(DELIVERED, [list(column) for column in zip(*rows, strict=True)])
            hooks = {webhook for (webhook,) in cursor.fetchall()}
            count = cursor.rowcount
        works = Webhook.objects.already_found().filter(pk__in=hooks, failing_since__isnull=False)
        works.update(failing_since=None)
    metrics.webhook_deliveries.labels(DeliveryStatus.DELIVERED.value).inc(count)


def record(delivery: WebhookDelivery, outcome: Outcome) -> bool:
    """Store the result of a try; False if another worker has taken the delivery over since."""
    first, status, due_at = _next(delivery, outcome)
    with transaction.atomic():
        rows = WebhookDelivery.objects.already_found().filter(
            pk=delivery.pk, status=DeliveryStatus.PENDING, due_at=delivery.due_at
        )
        stored = rows.update(
            status=status,
            tries=delivery.tries + 1,
            due_at=due_at,
            attempts=[*delivery.attempts, _entry(outcome)][-ATTEMPTS:],
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


def _entry(outcome: Outcome) -> dict[str, Any]:
    return {
        "at": outcome.at.isoformat(),
        "status": outcome.status,
        "error": outcome.error[:LONGEST_ERROR],
        "ms": outcome.ms,
    }


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
