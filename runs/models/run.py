"""Run: one attempt to answer inside a thread."""

from typing import Any, TypeVar
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agui_host.protocol.errors import RunErrorCode
from agui_host.runtimes.models import Agent
from agui_host.teams.actors import LONGEST
from agui_host.teams.models import Team
from agui_host.teams.tenancy import TeamOwned
from events.models import Journal
from runs.models.texts import PiecedText
from runs.models.thread import Thread

Rows = TypeVar("Rows", bound=models.QuerySet[Any])


class Status(models.TextChoices):
    """The status of a run; ``lifecycle`` is the only writer."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def event(self) -> str:
        """The name of the event that a run has this status now, as ``runs_webhook_of_run``."""
        names = {Status.QUEUED: "created", Status.RUNNING: "started"}
        return f"run.{names.get(self, self.value)}"


BY_EVENT = {status.event: status for status in Status}
ACTIVE = (Status.QUEUED, Status.RUNNING)
WORKER_GONE = (RunErrorCode.WORKER_LOST.value, RunErrorCode.SHUTDOWN.value)
"""Error codes of runs that ended because of their worker, not because of their agent."""
ENDED = tuple(status for status in Status if status not in ACTIVE)
IS_ACTIVE = f"status in {tuple(status.value for status in ACTIVE)}"
"""``ACTIVE`` as a condition of a statement, whose plan must know the values for an index."""
ADMITTED = Q(status__in=ACTIVE, stamp__isnull=False)
"""A run that has a place among its team's concurrent runs; ``agui_admit`` counts them."""
WAITING = Q(status=Status.QUEUED, stamp=None)
"""A run that waits for admission: for its team's turn or its thread's."""


FACELESS = (Q(asked=None) | Q(answered=None, status__in=ENDED)) & Q(purged_at=None)
"""A stored run whose question or last answer has still to be read from its input and its log."""
SHOWN = 200
"""Characters of ``asked`` and ``answered``, as ``agui_host.protocol.fold.face`` cuts them."""
BODIES = ("input", "context", "person", "result", "usage", "error_message")
"""Columns of a run that may hold megabytes: no list reads them."""


class Run(TeamOwned):
    """One attempt to answer inside a thread; its id is its journal's id.

    ``input`` and ``result`` are TEXT JSON exactly as sent: jsonb refuses NUL and lone surrogates.
    ``starter`` is the ``actor_id`` behind the label ``started_by``; ``person`` are the claims about
    its ``end_user``, as JSON, until the run is purged. ``context`` is what context
    providers added to the input, for members only (``runs/access/context.py``). ``request_digest``
    identifies the first request of an Idempotency-Key.

    A queued run without ``stamp`` waits for its team's or its thread's turn; ``stamp`` is its place
    in the fair order. A worker can take it from ``due_at`` on, which is null once ``worker`` has
    it; so a run is its own job. A spawned run has its ``parent`` and that one's worker. ``job_id``
    is a job for workers of the previous release.

    ``asked`` and ``answered`` are the beginnings of its question and of its last answer; None if a
    process that did not know these columns wrote the row (``runs/lifecycle/words/faces.py``).

    ``attempt`` counts the runs under one ``run_id``: some clients resume with the interrupted run's
    own (CopilotKit#6999), and a run that lost its worker may be repeated
    (``lifecycle/repetition.py``): ``repeats`` is that run, ``tries`` counts one request's starts.
    After ``purged_at`` only the row is left, without any content.
    """

    journal = models.OneToOneField(
        Journal, primary_key=True, on_delete=models.PROTECT, related_name="run"
    )
    # Without indexes of their own: those below begin with them.
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    thread = models.ForeignKey(
        Thread, on_delete=models.CASCADE, related_name="runs", db_index=False
    )
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="runs", db_index=False)
    agent_version = models.CharField(  # noqa: DJ001  a run has none before it starts
        max_length=16, null=True, editable=False, help_text="Of its agent, as the run started."
    )
    wanted_version = models.CharField(  # noqa: DJ001  most runs have none
        max_length=16, null=True, editable=False,
        help_text="The version of its agent that it runs, instead of the present one.",
    )  # fmt: skip
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
    input = PiecedText()
    context = models.TextField(null=True)  # noqa: DJ001
    result = models.TextField(null=True)  # noqa: DJ001
    usage = models.TextField(null=True)  # noqa: DJ001
    asked = models.CharField(max_length=SHOWN, null=True, editable=False)  # noqa: DJ001
    answered = models.CharField(max_length=SHOWN, null=True, editable=False)  # noqa: DJ001
    # What it did, took and cost, stored with its end; null where its events do not say it.
    tool_calls = models.IntegerField(null=True, editable=False)
    subagents = models.IntegerField(null=True, editable=False)
    tokens_in = models.BigIntegerField(null=True, editable=False)
    tokens_out = models.BigIntegerField(null=True, editable=False)
    tokens_cached = models.BigIntegerField(
        null=True, editable=False, help_text="Of the tokens in, those that the model had cached."
    )
    cost = models.FloatField(null=True, editable=False, help_text="In US dollars.")
    by_model = models.JSONField(
        null=True, editable=False, help_text="Tokens and cost of each model, of several."
    )
    questions = models.IntegerField(null=True, editable=False)
    queued_ms = models.IntegerField(
        null=True, editable=False, help_text="From its creation to its start, in milliseconds."
    )
    ttft_ms = models.IntegerField(
        null=True,
        editable=False,
        help_text="From its start to the first piece of text, reasoning or a call.",
    )
    error_code = models.CharField(max_length=40, blank=True, default="")
    error_message = models.TextField(blank=True, default="")
    idempotency_key = models.CharField(max_length=255, null=True)  # noqa: DJ001
    request_digest = models.CharField(max_length=64)
    job_id = models.BigIntegerField(null=True)
    stamp = models.BigIntegerField(null=True, editable=False)
    due_at = models.DateTimeField(null=True, editable=False)
    worker = models.BigIntegerField(
        null=True, editable=False, help_text="The worker that executes it, or has executed it."
    )
    traceparent = models.CharField(  # noqa: DJ001  most runs have none
        max_length=64, null=True, editable=False, help_text="The span of the request."
    )
    started_by = models.CharField(
        max_length=200, help_text="Who started it: the label of a person or a key."
    )
    starter = models.CharField(max_length=LONGEST, blank=True, default="", db_default="")
    end_user = models.CharField(
        max_length=150, blank=True, default="", db_default="",
        help_text="The person for whom the key started it: `sub` of the token X-AGUI-User.",
    )  # fmt: skip
    person = models.TextField(null=True, editable=False)  # noqa: DJ001
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    purged_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-journal"]
        constraints = [
            # The client's name comes first, so that the list finds a run by it.
            models.UniqueConstraint(
                fields=["run_id", "thread", "attempt"], name="run_once_per_thread"
            ),
            models.UniqueConstraint(
                fields=["team", "idempotency_key"],
                condition=Q(idempotency_key__isnull=False),
                name="run_once_per_key",
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
            # the runs list of a team, newest first
            models.Index(fields=["team", "-journal"], name="run_team_newest"),
            # the same from one time to another, and the failures of one kind
            models.Index(fields=["team", "-created_at", "-journal"], name="run_team_by_time"),
            models.Index(
                fields=["team", "error_code", "-journal"],
                condition=~Q(error_code=""),
                name="run_team_failed_by_code",
            ),
            # one agent's runs, and one person's
            models.Index(fields=["agent", "-journal"], name="run_agent_newest"),
            # the runs of one version, and when it last ran
            models.Index(
                fields=["agent", "agent_version", "-journal"],
                condition=Q(agent_version__isnull=False),
                name="run_agent_by_version",
            ),
            models.Index(fields=["team", "started_by", "-journal"], name="run_team_by_starter"),
            models.Index(
                fields=["team", "end_user", "-journal"],
                condition=~Q(end_user=""),
                name="run_team_by_end_user",
            ),
            models.Index(
                fields=["parent"], condition=Q(parent__isnull=False), name="run_of_parent"
            ),
            # the ended runs of a status; those that have not ended are found by run_in_line
            models.Index(
                fields=["team", "status", "-journal"],
                condition=Q(status__in=ENDED),
                name="run_team_ended_newest",
            ),
            # a thread's runs in their order: its history, and the newest of each in the list
            models.Index(fields=["thread", "-journal"], name="run_thread_newest"),
            # for retention: without runs purged long ago
            models.Index(
                fields=["team", "journal"], condition=Q(purged_at=None), name="run_not_purged"
            ),
            # runs whose texts no list can show yet (runs/lifecycle/words/faces.py)
            models.Index(fields=["-journal"], condition=FACELESS, name="run_faceless"),
            # "is this thread busy?" and the reaper's scan, over the few active rows only
            models.Index(
                fields=["thread", "status"], condition=Q(status__in=ACTIVE), name="run_active"
            ),
            # for the sweep for repeatable runs (runs/lifecycle/repetition.py)
            models.Index(
                fields=["ended_at"],
                condition=Q(status=Status.FAILED, error_code__in=WORKER_GONE),
                name="run_worker_gone",
            ),
            # for admission: how many runs of a team are going, and which waiting one is next, which
            # has no stamp; also a team's runs that have not ended
            models.Index(
                fields=["team", "stamp", "created_at", "journal"],
                condition=Q(status__in=ACTIVE),
                name="run_in_line",
            ),
            # for workers: which run is next, and which are theirs
            models.Index(
                fields=["stamp", "journal"], condition=Q(due_at__isnull=False), name="run_due"
            ),
            models.Index(
                fields=["worker"],
                condition=Q(status__in=ACTIVE, worker__isnull=False),
                name="run_of_worker",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} ({self.status})"

    @property
    def begins_thread(self) -> bool:
        """Whether no run of its thread is older; by a query."""
        earlier = type(self).objects.of_one_thread().filter(thread_id=self.thread_id)
        return not earlier.filter(journal_id__lt=self.pk).exists()

    @property
    def id(self) -> UUID:
        """The id, which is that of the run's journal."""
        return self.journal_id


def without_bodies(rows: Rows, path: str = "") -> Rows:
    """The rows of a list without the bodies of runs; ``path`` leads to the run, as in ``run__``."""
    return rows.defer(*(f"{path}{name}" for name in BODIES))
