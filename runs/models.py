"""Thread and Run: a conversation, and one attempt to answer inside it."""

from uuid import UUID

import uuid6
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from events.models import Journal
from runtimes.models import Agent
from teams.tenancy import TeamOwned


class Status(models.TextChoices):
    """Where a run stands; ``lifecycle`` is the only writer."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"
    FAILED = "failed"


ACTIVE = (Status.QUEUED, Status.RUNNING)
ENDED = tuple(status for status in Status if status not in ACTIVE)


class Thread(TeamOwned):
    """A conversation. ``thread_id`` is the client's name for it, unique inside the team only."""

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    thread_id = models.CharField(max_length=255)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "thread_id"], name="thread_once_per_team")
        ]

    def __str__(self) -> str:
        return self.thread_id


class Run(TeamOwned):
    """One attempt to answer inside a thread; its id is its journal's id.

    ``input`` and ``result`` are TEXT JSON as they go on the wire: jsonb refuses NUL and lone
    surrogates. ``request_digest`` fingerprints what an Idempotency-Key was first used with.
    """

    journal = models.OneToOneField(
        Journal, primary_key=True, on_delete=models.PROTECT, related_name="run"
    )
    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="runs")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="runs")
    run_id = models.CharField(max_length=255)
    parent_run_id = models.CharField(max_length=255, null=True)  # noqa: DJ001  absent is not ""
    protocol_version = models.CharField(max_length=20, null=True)  # noqa: DJ001
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.QUEUED)
    input = models.TextField()
    result = models.TextField(null=True)  # noqa: DJ001
    usage = models.TextField(null=True)  # noqa: DJ001
    error_code = models.CharField(max_length=40, blank=True, default="")
    error_message = models.TextField(blank=True, default="")
    idempotency_key = models.CharField(max_length=255, null=True)  # noqa: DJ001
    request_digest = models.CharField(max_length=64)
    job_id = models.BigIntegerField(null=True)
    started_by = models.CharField(max_length=200, help_text="The principal that asked for it.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-journal"]
        constraints = [
            models.UniqueConstraint(fields=["thread", "run_id"], name="run_once_per_thread"),
            models.UniqueConstraint(
                fields=["team", "idempotency_key"], name="run_idempotency_once_per_team"
            ),
            models.UniqueConstraint(
                fields=["thread"],
                condition=Q(status=Status.RUNNING),
                name="run_one_running_per_thread",
            ),
            models.CheckConstraint(condition=Q(status__in=Status.values), name="run_status_known"),
            models.CheckConstraint(
                condition=Q(status__in=ACTIVE, ended_at=None)
                | Q(status__in=ENDED, ended_at__isnull=False),
                name="run_ended_at_exactly_when_ended",
            ),
            models.CheckConstraint(
                condition=Q(status=Status.FAILED) ^ Q(error_code=""),
                name="run_error_code_exactly_when_failed",
            ),
        ]
        indexes = [
            # the runs list of a team, newest first, with and without a status filter
            models.Index(fields=["team", "-journal"], name="run_team_newest"),
            models.Index(fields=["team", "status", "-journal"], name="run_team_status_newest"),
            # "is this thread busy?" and the reaper's scan, over the few active rows only
            models.Index(
                fields=["thread", "status"], condition=Q(status__in=ACTIVE), name="run_active"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} ({self.status})"

    @property
    def id(self) -> UUID:
        """The run's id, which is its journal's."""
        return self.journal_id
