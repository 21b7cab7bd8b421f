"""The figures of a team's tool calls by day, and the days that have to be counted again."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from agui_host.protocol.fold.outline_row import LONGEST_NAME
from agui_host.runtimes.models import Agent
from agui_host.teams.actors import LONGEST
from agui_host.teams.models import Team


class ToolDay(models.Model):
    """The calls of a tool on a day of UTC, by agent; ``owner`` is as in ``ToolCall``.

    The row without an agent has the durations of all agents: ``counts`` of calls by ``buckets``,
    which are those of ``UsageTook``.
    """

    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    day = models.DateField()
    agent = models.ForeignKey(
        Agent, null=True, on_delete=models.CASCADE, related_name="+", db_constraint=False,
        db_index=False,
    )  # fmt: skip
    name = models.CharField(max_length=LONGEST_NAME, blank=True)
    owner = models.CharField(max_length=LONGEST, blank=True)
    calls = models.IntegerField()
    failed = models.IntegerField()
    doubles = models.IntegerField()
    buckets = ArrayField(models.SmallIntegerField())
    counts = ArrayField(models.IntegerField())

    class Meta:
        indexes = [models.Index(fields=["team", "day"], name="tool_day_of_team")]

    def __str__(self) -> str:
        return f"{self.calls} calls of {self.name} on {self.day}"


class ToolChange(models.Model):
    """A day of which ``ToolDay`` is not exact: calls were stored, changed or erased since.

    Made by a trigger (``runs/sql/insight.sql``) in the transaction of the change. Without
    constraints to other tables, which would lock their rows.
    """

    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    day = models.DateField()

    class Meta:
        indexes = [models.Index(fields=["team", "day"], name="tool_change_of_team")]

    def __str__(self) -> str:
        return f"{self.day}"
