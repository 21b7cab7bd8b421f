"""Webhook: an address that is called about runs; WebhookDelivery: one such call."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agui_host.backends.postgres import clock
from agui_host.security.secrets import SealedField
from agui_host.teams.actors import LONGEST
from agui_host.teams.tenancy import TeamOwned
from runs.models.interrupt import InterruptStatus
from runs.models.notices.notice import NOTICES
from runs.models.run import Status
from runs.models.thread import Thread

EVENTS = (
    Status.RUNNING.event, Status.SUCCEEDED.event, Status.FAILED.event, Status.CANCELLED.event,
    Status.INTERRUPTED.event, InterruptStatus.OPEN.event, InterruptStatus.ANSWERED.event,
    InterruptStatus.EXPIRED.event, "thread.created", "mention.created",
    *NOTICES,
)  # fmt: skip
TEST = "webhook.test"
"""The type of a delivery that somebody asked for to see whether the address answers."""


LONGEST_NAME = 64


class Stop(models.TextChoices):
    """Why a webhook is disabled."""

    PAUSED = "paused"
    FAILING = "failing"
    GONE = "gone"
    BACKLOG = "backlog"
    MAKER_LEFT = "maker_left"
    ENDED = "ended"


class Webhook(TeamOwned):
    """An address that hears of some kinds of events of its team.

    ``agents``: slugs of the agents whose runs it is about; None for all. ``secrets`` are sealed
    JSON (``lifecycle/webhooks/signing.py``). ``contents``: whether they tell the conversation.
    ``creator`` is the ``actor_id`` behind the label ``created_by``: nobody hears of other people's
    private threads. No delivery has succeeded since ``failing_since``; None if the newest did.

    With ``task`` it is no webhook of the team's, but the push notifications of one A2A task: the id
    of the task's first run, in ``thread``. ``name`` is what the client calls it, and ``secrets``
    are the token and the credentials to send along. It ends with the delivery of the task's end.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    url = models.CharField(max_length=2_000)
    events = ArrayField(models.CharField(max_length=30))
    agents = ArrayField(models.CharField(max_length=64), null=True)
    contents = models.BooleanField(default=False)
    secrets = SealedField()
    enabled = models.BooleanField(default=True)
    stopped = models.CharField(max_length=12, choices=Stop.choices, blank=True, default="")
    failing_since = models.DateTimeField(null=True)
    task = models.UUIDField(null=True)
    thread = models.ForeignKey(
        Thread, on_delete=models.CASCADE, null=True, related_name="+", db_index=False
    )
    name = models.CharField(max_length=LONGEST_NAME, blank=True, default="", db_default="")
    created_by = models.CharField(max_length=200)
    creator = models.CharField(max_length=LONGEST)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(events__contained_by=EVENTS, events__len__gt=0),
                name="webhook_events_known",
            ),
            models.CheckConstraint(
                condition=Q(agents=None) | Q(agents__len__gt=0), name="webhook_agents_not_empty"
            ),
            models.CheckConstraint(
                condition=Q(enabled=True, stopped="") | Q(enabled=False, stopped__in=Stop.values),
                name="webhook_stopped_exactly_when_disabled",
            ),
            models.CheckConstraint(
                condition=Q(task=None, thread=None, name="")
                | Q(~Q(name=""), task__isnull=False, thread__isnull=False),
                name="webhook_of_team_or_task",
            ),
            models.UniqueConstraint(
                fields=["task", "creator", "name"],
                condition=Q(task__isnull=False),
                name="webhook_once_per_task_and_name",
            ),
        ]
        indexes = [
            # what the trigger looks for at each change of a run
            models.Index(fields=["team"], condition=Q(task=None), name="webhook_of_team"),
            models.Index(
                fields=["thread"], condition=Q(thread__isnull=False), name="webhook_of_task"
            ),
        ]

    def __str__(self) -> str:
        return self.url


class DeliveryStatus(models.TextChoices):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class WebhookDelivery(TeamOwned):
    """One message to one webhook; its id is the ``webhook-id`` of every try.

    A trigger makes it in the transaction of the change that it tells of, so it is there if and
    only if the change is. It is tried at ``due_at``. The worker that tries it moves ``due_at``
    behind the longest possible try: if that worker dies, another one tries again then, and what the
    first one may still record no longer counts. ``tries`` counts since the delivery was last asked
    for, ``attempts`` are all outcomes: ``{at, status, error, ms}``. What it is about is named by id
    only, and may be erased meanwhile.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    # No constraint: its lock on the webhook could hold up the commit of the journal's writer.
    webhook = models.ForeignKey(
        Webhook,
        on_delete=models.CASCADE,
        related_name="deliveries",
        db_constraint=False,
        db_index=False,
    )
    type = models.CharField(max_length=30)
    thread = models.UUIDField(null=True)
    run = models.UUIDField(null=True)
    interrupt = models.UUIDField(null=True)
    comment = models.UUIDField(null=True)
    notice = models.UUIDField(null=True)
    status = models.CharField(
        max_length=10,
        choices=DeliveryStatus.choices,
        default=DeliveryStatus.PENDING,
        db_default=DeliveryStatus.PENDING,
    )
    tries = models.PositiveSmallIntegerField(default=0, db_default=0)
    due_at = models.DateTimeField(db_default=Now())
    attempts = models.JSONField(default=list)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status=DeliveryStatus.PENDING, ended_at=None)
                | Q(
                    status__in=(DeliveryStatus.DELIVERED, DeliveryStatus.FAILED),
                    ended_at__isnull=False,
                ),
                name="delivery_ended_at_exactly_when_ended",
            ),
        ]
        indexes = [
            models.Index(fields=["webhook", "-id"], name="delivery_webhook_newest"),
            models.Index(
                fields=["team", "due_at"],
                condition=Q(status=DeliveryStatus.PENDING),
                name="delivery_due_of_team",
            ),
            models.Index(
                fields=["team", "webhook", "due_at"],
                condition=Q(status=DeliveryStatus.PENDING),
                name="delivery_due_of_webhook",
            ),
            models.Index(fields=["created_at"], name="delivery_oldest"),
        ]

    def __str__(self) -> str:
        return f"{self.type} ({self.status})"
