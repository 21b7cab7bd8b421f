"""Interrupt: a question that ended a run."""

from datetime import datetime

from django.db import models
from django.db.models import Q
from django.db.models.functions import MD5, Now

from agui_host.backends.postgres import clock
from agui_host.teams.actors import LONGEST
from agui_host.teams.tenancy import TeamOwned
from runs.models.run import Run
from runs.models.thread import Thread


class InterruptStatus(models.TextChoices):
    """The status of a question; ``interrupts`` is the only writer."""

    OPEN = "open"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    @property
    def event(self) -> str:
        """The name of the event that a question has this status now.

        ``runs_webhook_of_interrupt`` names them alike: a cancelled question is an answered one.
        """
        names = {InterruptStatus.OPEN: "opened", InterruptStatus.CANCELLED: "answered"}
        return f"interrupt.{names.get(self, self.value)}"


BY_INTERRUPT_EVENT = {status.event: status for status in reversed(InterruptStatus)}
"""The status that an event tells of; an answer of either status is called answered."""


class Interrupt(TeamOwned):
    """A question that a run ended with; answered at most once by a later run's ``resume``.

    ``run`` is the newest run that ended with it: a run that only asks again takes the rows over.
    ``question`` is the exact interrupt in wire form, ``answer`` the entry of the ``resume``; both
    are TEXT JSON. ``answering_run`` is the run that brought the answer: null while an answer waits
    for those to the other questions of its run. ``noticed_at`` is when a worker took it to tell
    people of it. ``claimer`` is the ``actor_id`` behind the label ``claimed_by``: who answers it,
    for the eyes of colleagues.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="interrupts")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="interrupts")
    interrupt_id = models.TextField()
    reason = models.TextField()
    message = models.TextField(blank=True, default="")
    tool_call_id = models.TextField(blank=True, default="")
    response_schema = models.TextField(null=True)  # noqa: DJ001  TEXT JSON; absent is not ""
    expires_at = models.DateTimeField(null=True)
    question = models.TextField()
    status = models.CharField(
        max_length=10, choices=InterruptStatus.choices, default=InterruptStatus.OPEN
    )
    answer = models.TextField(null=True)  # noqa: DJ001
    answered_by = models.CharField(max_length=200, blank=True, default="")
    answered_at = models.DateTimeField(null=True)
    answering_run = models.ForeignKey(
        Run, on_delete=models.SET_NULL, null=True, related_name="answers"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    claimed_by = models.CharField(max_length=200, blank=True, default="", db_default="")
    claimer = models.CharField(max_length=LONGEST, blank=True, default="", db_default="")
    claimed_at = models.DateTimeField(null=True)
    noticed_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-id"]
        constraints = [
            # hashed, since an agent's id may be longer than an index entry
            models.UniqueConstraint("run", MD5("interrupt_id"), name="interrupt_once_per_run"),
            models.CheckConstraint(
                condition=Q(status__in=InterruptStatus.values), name="interrupt_status_known"
            ),
            models.CheckConstraint(
                condition=Q(
                    ~Q(answered_by=""),
                    status__in=(InterruptStatus.ANSWERED, InterruptStatus.CANCELLED),
                    answer__isnull=False,
                    answered_at__isnull=False,
                )
                | Q(
                    status__in=(InterruptStatus.OPEN, InterruptStatus.EXPIRED),
                    answer=None,
                    answered_at=None,
                    answered_by="",
                ),
                name="interrupt_answer_exactly_when_answered",
            ),
            models.CheckConstraint(
                condition=~Q(status=InterruptStatus.OPEN) | Q(answering_run=None),
                name="interrupt_open_was_told_to_nobody",
            ),
        ]
        indexes = [
            # the questions of a thread's newest interrupted run
            models.Index(fields=["thread", "-run"], name="interrupt_thread_newest"),
            # the inbox of a team, with and without a status filter
            models.Index(fields=["team", "-id"], name="interrupt_team_newest"),
            models.Index(fields=["team", "status", "-id"], name="interrupt_team_status_newest"),
            # what the sweep searches for
            models.Index(
                fields=["expires_at"],
                condition=Q(status=InterruptStatus.OPEN),
                name="interrupt_open_expiry",
            ),
            # of which people have not been told yet
            models.Index(
                fields=["created_at"],
                condition=Q(status=InterruptStatus.OPEN, noticed_at=None),
                name="interrupt_not_noticed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.interrupt_id} ({self.status})"

    def late(self, now: datetime) -> bool:
        """Whether the question expired unanswered; the sweep may not have recorded it yet."""
        if self.status == InterruptStatus.OPEN:
            return self.expires_at is not None and self.expires_at <= now
        return self.status == InterruptStatus.EXPIRED

    def missing(self, now: datetime) -> bool:
        """Whether the question still needs an answer."""
        return self.status == InterruptStatus.OPEN and not self.late(now)
