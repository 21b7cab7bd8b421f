"""Issue: failed runs of one agent with the same error, and how people deal with it."""

from django.db import models
from django.db.models.functions import Now

from agui_host.backends.postgres import clock
from agui_host.runtimes.models import Agent
from agui_host.teams.actors import LONGEST
from agui_host.teams.models import Membership, Team
from agui_host.teams.tenancy import TeamOwned
from runs.models.run import SHOWN, Run

LONGEST_MESSAGE = SHOWN
LONGEST_NOTE = 4_000


class Issue(TeamOwned):
    """``fingerprint`` is the digest of agent, error code and ``message``, which has no values.

    If the agent raised an exception, its kind and place also count (``Failure.fingerprint``).

    Readers of one of its runs see it, and it exists as long as one of them is stored. A failure
    after ``resolved_at`` brings it back.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+", db_index=False)
    fingerprint = models.CharField(max_length=32)
    error_code = models.CharField(max_length=40)
    message = models.CharField(max_length=LONGEST_MESSAGE, blank=True)
    assignee = models.ForeignKey(Membership, null=True, on_delete=models.SET_NULL, related_name="+")
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "fingerprint"], name="issue_once_per_team")
        ]

    def __str__(self) -> str:
        return f"{self.error_code}: {self.message[:60]}"


class IssueRun(TeamOwned):
    """A failed run of an issue. ``at`` is when it ended; ``owner`` is as in ``ToolCall``."""

    run = models.OneToOneField(
        Run,
        primary_key=True,
        on_delete=models.CASCADE,
        related_name="issue_run",
        db_constraint=False,
    )
    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    issue = models.ForeignKey(Issue, on_delete=models.CASCADE, related_name="runs", db_index=False)
    owner = models.CharField(max_length=LONGEST, blank=True)
    at = models.DateTimeField()

    class Meta:
        indexes = [
            # without a look at the table: all issues of a team, and one issue's runs
            models.Index(
                fields=["team", "issue", "owner", "at"], include=["run"], name="issue_run_seen"
            ),
            models.Index(fields=["issue", "-run"], name="issue_run_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} of {self.issue_id}"


class IssueNote(TeamOwned):
    """A note on an issue. ``author`` is the label of the person or key that wrote it."""

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    issue = models.ForeignKey(Issue, on_delete=models.CASCADE, related_name="notes")
    text = models.TextField(max_length=LONGEST_NOTE)
    author = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return f"note of {self.author}"
