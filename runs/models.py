"""Thread, Run, Interrupt: a conversation, an attempt to answer in it, a question that ended one."""

from datetime import datetime
from uuid import UUID

import uuid6
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import MD5, Now

from events.models import Journal
from protocol.errors import RunErrorCode
from runs.grants import Grant, Level
from runs.remarks import Comment, Feedback, Mention, Thumb
from runtimes.models import Agent
from teams.actors import LONGEST
from teams.models import Team
from teams.tenancy import TeamOwned

__all__ = [
    "ACTIVE",
    "ENDED",
    "WORKER_GONE",
    "Comment",
    "Feedback",
    "Grant",
    "Interrupt",
    "InterruptStatus",
    "Level",
    "Mention",
    "Run",
    "Status",
    "Thread",
    "ThreadHistory",
    "Thumb",
    "Visibility",
]


class Visibility(models.TextChoices):
    """Which members see a thread: all, or only its starter and those with a grant."""

    TEAM = "team"
    PRIVATE = "private"


class Status(models.TextChoices):
    """Where a run stands; ``lifecycle`` is the only writer."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"
    FAILED = "failed"


ACTIVE = (Status.QUEUED, Status.RUNNING)
WORKER_GONE = (RunErrorCode.WORKER_LOST.value, RunErrorCode.SHUTDOWN.value)
"""Codes of runs that ended with their worker, and not by what their agent did."""
ENDED = tuple(status for status in Status if status not in ACTIVE)


class Thread(TeamOwned):
    """A conversation. ``thread_id`` is the client's name for it, unique inside the team only.

    ``created_by`` is the label of the principal whose run began it; ``creator`` its ``actor_id``,
    which decides who sees a private thread. With ``legal_hold`` nothing of the thread is purged
    or erased.
    """

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    thread_id = models.CharField(max_length=255)
    created_by = models.CharField(max_length=200, blank=True, default="")
    creator = models.CharField(max_length=LONGEST, blank=True, default="", db_default="")
    legal_hold = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    visibility = models.CharField(
        max_length=10, choices=Visibility.choices, default=Visibility.TEAM
    )
    title = models.CharField(max_length=200, blank=True, default="")
    tags = ArrayField(models.CharField(max_length=60), default=list, blank=True)
    archived_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "thread_id"], name="thread_once_per_team"),
            models.CheckConstraint(
                condition=Q(visibility__in=Visibility.values), name="thread_visibility_known"
            ),
        ]

    def __str__(self) -> str:
        return self.thread_id


class ThreadHistory(models.Model):
    """What the ended runs of a thread add up to, kept so that long threads stay cheap.

    ``fold`` is what ``protocol.fold.fold.Fold.dump`` wrote after the run ``through``.
    """

    thread = models.OneToOneField(
        Thread, primary_key=True, on_delete=models.CASCADE, related_name="history"
    )
    fold = models.TextField()
    through = models.UUIDField()

    def __str__(self) -> str:
        return f"history of {self.thread_id}"


class Run(TeamOwned):
    """One attempt to answer inside a thread; its id is its journal's id.

    ``input`` and ``result`` are TEXT JSON as they go on the wire: jsonb refuses NUL and lone
    surrogates. ``starter`` is the ``actor_id`` behind the label ``started_by``.
    ``context`` is what context providers added to the input, for members only
    (``runs/access/context.py``). ``request_digest`` fingerprints what an Idempotency-Key was first
    used with.
    A queued run without ``job_id`` waits for its team's or its thread's turn.
    A run that another one spawned has it as its ``parent``, and is part of that one's job.
    ``attempt`` counts the runs under one ``run_id``: some clients resume with the interrupted
    run's own (CopilotKit#6999), and a run that lost its worker may be repeated
    (``lifecycle/repetition.py``): ``repeats`` is that run, ``tries`` counts one request's starts.
    From ``purged_at`` on only the row is left: what was said is gone.
    """

    journal = models.OneToOneField(
        Journal, primary_key=True, on_delete=models.PROTECT, related_name="run"
    )
    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="runs")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="runs")
    run_id = models.CharField(max_length=255)
    attempt = models.PositiveSmallIntegerField(default=1)
    parent = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="children", db_index=False
    )
    repeats = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="repeated_by", db_index=False
    )
    tries = models.PositiveSmallIntegerField(default=1, db_default=1)
    parent_run_id = models.CharField(max_length=255, null=True)  # noqa: DJ001  absent is not ""
    protocol_version = models.CharField(max_length=20, null=True)  # noqa: DJ001
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.QUEUED)
    input = models.TextField()
    context = models.TextField(null=True)  # noqa: DJ001
    result = models.TextField(null=True)  # noqa: DJ001
    usage = models.TextField(null=True)  # noqa: DJ001
    error_code = models.CharField(max_length=40, blank=True, default="")
    error_message = models.TextField(blank=True, default="")
    idempotency_key = models.CharField(max_length=255, null=True)  # noqa: DJ001
    request_digest = models.CharField(max_length=64)
    job_id = models.BigIntegerField(null=True)
    started_by = models.CharField(max_length=200, help_text="The principal that asked for it.")
    starter = models.CharField(max_length=LONGEST, blank=True, default="", db_default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    purged_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-journal"]
        constraints = [
            models.UniqueConstraint(
                fields=["thread", "run_id", "attempt"], name="run_once_per_thread"
            ),
            models.UniqueConstraint(
                fields=["team", "idempotency_key"], name="run_idempotency_once_per_team"
            ),
            models.UniqueConstraint(
                fields=["repeats"],
                condition=Q(repeats__isnull=False),
                name="run_repeated_once",
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
            models.Index(
                fields=["parent"], condition=Q(parent__isnull=False), name="run_of_parent"
            ),
            models.Index(fields=["team", "status", "-journal"], name="run_team_status_newest"),
            # a thread's runs in their order: its history, and the newest of each in the list
            models.Index(fields=["thread", "-journal"], name="run_thread_newest"),
            # what retention looks at: not those that it has purged long ago
            models.Index(
                fields=["team", "journal"], condition=Q(purged_at=None), name="run_not_purged"
            ),
            # "is this thread busy?" and the reaper's scan, over the few active rows only
            models.Index(
                fields=["thread", "status"], condition=Q(status__in=ACTIVE), name="run_active"
            ),
            # what the sweep for repeatable runs looks at (runs/lifecycle/repetition.py)
            models.Index(
                fields=["ended_at"],
                condition=Q(status=Status.FAILED, error_code__in=WORKER_GONE),
                name="run_worker_gone",
            ),
            # admission: how many a team has going, and which of the waiting is next
            models.Index(
                fields=["team"],
                condition=Q(status__in=ACTIVE, job_id__isnull=False),
                name="run_admitted",
            ),
            models.Index(
                fields=["team", "created_at", "journal"],
                condition=Q(status=Status.QUEUED, job_id=None),
                name="run_waiting",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} ({self.status})"

    @property
    def id(self) -> UUID:
        """The run's id, which is its journal's."""
        return self.journal_id


class TeamUsage(models.Model):
    """What admission keeps of a team, and the row it locks: one admits at a time.

    ``stamp`` is where the team's next run stands in virtual time (``runs/lifecycle/admission.py``);
    ``stored_bytes`` the events of its ended runs.
    """

    team = models.OneToOneField(
        Team, primary_key=True, on_delete=models.CASCADE, related_name="usage"
    )
    stamp = models.BigIntegerField(default=0, db_default=0)
    stored_bytes = models.BigIntegerField(default=0, db_default=0)

    def __str__(self) -> str:
        return f"usage of {self.team_id}"


class EndedRun(models.Model):
    """A run that has ended and whose ``bytes`` its team's usage does not count yet.

    Made in the transaction that ends the run; whoever adds it to the usage deletes it. Not a
    foreign key, since it outlives a run that is erased before it was counted.
    """

    run_id = models.UUIDField(primary_key=True)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    bytes = models.BigIntegerField()

    def __str__(self) -> str:
        return f"end of {self.run_id}"


class InterruptStatus(models.TextChoices):
    """Where a question stands; ``interrupts`` is the only writer."""

    OPEN = "open"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Interrupt(TeamOwned):
    """A question that a run ended with; answered at most once by a later run's ``resume``.

    ``run`` is the newest run that ended with it: one that only asks again takes the rows along.
    ``question`` is the exact interrupt of the wire, ``answer`` the entry of the ``resume``; both
    are TEXT JSON. ``answering_run`` is the run that was told: null while an answer waits for
    those to the other questions of its run.
    """

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
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
            # what the sweep looks for
            models.Index(
                fields=["expires_at"],
                condition=Q(status=InterruptStatus.OPEN),
                name="interrupt_open_expiry",
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
        """Whether it still waits for an answer."""
        return self.status == InterruptStatus.OPEN and not self.late(now)
