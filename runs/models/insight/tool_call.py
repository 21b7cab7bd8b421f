"""ToolCall: a tool call of a run that has ended, for lists over many runs."""

from django.db import models
from django.db.models import Q

from agui_host.protocol.fold import calls
from agui_host.protocol.fold.outline_row import LONGEST_ID, LONGEST_NAME
from agui_host.runtimes.models import Agent
from agui_host.teams.actors import LONGEST
from agui_host.teams.models import Team
from agui_host.teams.tenancy import TeamOwned
from runs.models.run import SHOWN, Run


class Called(models.TextChoices):
    """The outcome of a call, as far as its thread shows it."""

    OK = calls.OK, "succeeded"
    ERROR = calls.ERROR, "failed"
    NONE = calls.NONE, "no result"


class ToolCall(TeamOwned):
    """A call that begins at the event ``seq`` of its run.

    ``digest`` is that of its canonical arguments, ``result`` the beginning of its result. ``root``
    is the first run with the same question: a repeated run, and a run that people ran again, have
    the ``root`` of the run before. ``double`` is the outcome of the earlier calls of that ``root``
    with the same name and digest; empty without any. ``owner`` is the ``actor_id`` of the person
    whose private thread this is in; "" for the team's threads.
    """

    id = models.BigAutoField(primary_key=True)
    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    run = models.ForeignKey(
        Run, on_delete=models.CASCADE, related_name="calls", db_constraint=False, db_index=False
    )
    agent = models.ForeignKey(
        Agent, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    owner = models.CharField(max_length=LONGEST, blank=True)
    root = models.UUIDField()
    seq = models.IntegerField()
    call = models.CharField(max_length=LONGEST_ID)
    name = models.CharField(max_length=LONGEST_NAME, blank=True)
    digest = models.CharField(max_length=calls.DIGEST)
    status = models.CharField(max_length=5, choices=Called.choices)
    double = models.CharField(max_length=5, choices=Called.choices, blank=True, default="")
    at = models.DateTimeField()
    took_ms = models.BigIntegerField(null=True)
    result = models.CharField(max_length=SHOWN, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "seq", "call"], name="call_once_per_run"),
            models.CheckConstraint(
                condition=Q(status__in=Called.values) & Q(double__in=["", *Called.values]),
                name="call_status_known",
            ),
        ]
        indexes = [
            # with all that the figures by tool read
            models.Index(
                fields=["team", "-at"],
                include=["name", "agent", "owner", "run", "status", "double", "took_ms"],
                name="call_figures",
            ),
            models.Index(fields=["team", "name", "-at"], name="call_tool_newest"),
            models.Index(fields=["agent", "-at"], name="call_agent_newest"),
            # failed calls, and calls without a result, which are few
            models.Index(
                fields=["team", "status", "-at"],
                condition=~Q(status=Called.OK.value),
                name="call_not_ok",
            ),
            models.Index(fields=["team", "-at"], condition=~Q(double=""), name="call_doubles"),
            models.Index(fields=["root"], name="call_of_root"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.run_id}"
