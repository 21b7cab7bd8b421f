"""The counts that admission keeps for a team, and the team's usage: runs, tokens, cost by hour."""

from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from agui_host.prices import DEAREST, LONGEST_MODEL, Price
from agui_host.runtimes.models import Agent
from agui_host.teams.actors import LONGEST
from agui_host.teams.models import Team
from agui_host.teams.tenancy import TeamOwned

LONGEST_CODE = 40
"""Characters of a run's error code."""


class TeamUsage(models.Model):
    """Admission's data about a team, and the row it locks: one process admits at a time.

    ``stamp`` is the position of the team's next run in virtual time
    (``runs/lifecycle/admission.py``); ``stored_bytes`` the size of its ended runs' events.
    ``counted_at``: when its ``Usage`` was last made from its runs; None before the first time.
    ``counted_as``: the edition of the tables that were made then (``sums.EDITION``).
    ``read_through``: of the runs of earlier releases, the last run that is an ``UnreadRun``; None
    before the first one.
    """

    team = models.OneToOneField(
        Team, primary_key=True, on_delete=models.CASCADE, related_name="usage"
    )
    stamp = models.BigIntegerField(default=0, db_default=0)
    stored_bytes = models.BigIntegerField(default=0, db_default=0)
    counted_at = models.DateTimeField(null=True, editable=False)
    counted_as = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    read_through = models.UUIDField(null=True, editable=False)

    def __str__(self) -> str:
        return f"usage of {self.team_id}"


class EndedRun(models.Model):
    """A run that has ended and whose ``bytes`` its team's usage does not count yet.

    Made in the transaction that ends the run; adding it to the usage deletes it. Not a foreign key,
    since it outlives a run that is erased before it was counted.
    """

    run_id = models.UUIDField(primary_key=True)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    bytes = models.BigIntegerField()

    def __str__(self) -> str:
        return f"end of {self.run_id}"


class Grain(models.TextChoices):
    """The dimensions of a row: the finest has all of them, the others are for fast answers."""

    TEAM = "team", "a day"
    AGENT = "agent", "an agent and a day"
    HOUR = "hour", "an agent and an hour"
    PERSON = "person", "a person or key, and a day"
    FINEST = "finest", "an agent, a person or key, a model and an hour"


def _amount() -> "models.DecimalField[Any, Any]":
    # Wider than the columns of a run: sums of what agents report must not overflow.
    return models.DecimalField(max_digits=40, decimal_places=0, default=0)


class Usage(models.Model):
    """The usage of a team, added up; ``runs/lifecycle/usage/rollup.py`` is the only writer.

    ``at`` is the beginning of the hour or day (UTC) in which the runs were requested. ``person`` is
    the label of a person or key (``started_by``). ``owner`` is the ``actor_id`` of the person whose
    private threads these runs are in; "" for the team's threads. A run with several models has a
    part in the row of each; it is counted in the first of them.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    grain = models.CharField(max_length=6, choices=Grain.choices)
    at = models.DateTimeField()
    agent = models.ForeignKey(
        Agent, null=True, on_delete=models.CASCADE, related_name="+", db_constraint=False,
        db_index=False,
    )  # fmt: skip
    person = models.CharField(max_length=200)
    owner = models.CharField(max_length=LONGEST)
    model = models.CharField(max_length=LONGEST_MODEL)
    parts = models.BigIntegerField(default=0)
    runs = models.BigIntegerField(default=0)
    succeeded = models.BigIntegerField(default=0)
    interrupted = models.BigIntegerField(default=0)
    cancelled = models.BigIntegerField(default=0)
    failed = models.BigIntegerField(default=0)
    tokens_in = _amount()
    tokens_out = _amount()
    tokens_cached = _amount()
    cost = models.DecimalField(max_digits=60, decimal_places=20, default=0)
    questions = models.BigIntegerField(default=0)
    queued_ms = _amount()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "grain", "at", "agent", "person", "owner", "model"],
                nulls_distinct=False,
                name="usage_once",
            ),
            models.CheckConstraint(condition=Q(grain__in=Grain.values), name="usage_grain_known"),
        ]
        indexes = [
            # rows that erasures have emptied, to delete them
            models.Index(fields=["team"], condition=Q(parts=0), name="usage_empty")
        ]

    def __str__(self) -> str:
        return f"{self.runs} runs at {self.at}"


class Took(models.Model):
    """How many runs of an agent took how long: counts by ``bucket``, for percentiles.

    Bucket n is for durations of up to 1.1 to the power of n milliseconds.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    at = models.DateTimeField()
    owner = models.CharField(max_length=LONGEST)
    bucket = models.SmallIntegerField()
    runs = models.BigIntegerField(default=0)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.runs} runs in bucket {self.bucket}"


class UsageTook(Took):
    """Durations by the day, of each agent and, without one, of all agents of the team."""

    agent = models.ForeignKey(
        Agent, null=True, on_delete=models.CASCADE, related_name="+", db_constraint=False,
        db_index=False,
    )  # fmt: skip

    class Meta:
        constraints = [
            # Of some agents or of none, many days are read.
            models.UniqueConstraint(
                fields=["team", "agent", "at", "owner", "bucket"],
                nulls_distinct=False,
                name="usage_took_once",
            )
        ]
        indexes = [models.Index(fields=["team"], condition=Q(runs=0), name="usage_took_empty")]


class UsageTookHour(Took):
    """Durations by the hour: for windows that begin within a day."""

    agent = models.ForeignKey(
        Agent, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "at", "agent", "owner", "bucket"], name="usage_took_hour_once"
            )
        ]
        indexes = [models.Index(fields=["team"], condition=Q(runs=0), name="usage_took_hour_empty")]


class UsageVersion(models.Model):
    """How the ended runs of a version of an agent have fared, of any age.

    ``bucket`` is that of their durations, as in ``UsageTook``; -1 for a run without a start.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    agent = models.ForeignKey(
        Agent, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    version = models.CharField(max_length=16)
    owner = models.CharField(max_length=LONGEST)
    bucket = models.SmallIntegerField()
    runs = models.BigIntegerField(default=0)
    failed = models.BigIntegerField(default=0)
    cost = models.DecimalField(max_digits=60, decimal_places=20, default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "agent", "version", "owner", "bucket"], name="usage_version_once"
            )
        ]
        indexes = [models.Index(fields=["team"], condition=Q(runs=0), name="usage_version_empty")]

    def __str__(self) -> str:
        return f"{self.runs} runs of version {self.version}"


class UsageError(models.Model):
    """How many runs of an agent that were requested on a day have failed with an error code."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    at = models.DateTimeField()
    agent = models.ForeignKey(
        Agent, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    owner = models.CharField(max_length=LONGEST)
    error_code = models.CharField(max_length=LONGEST_CODE)
    runs = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "at", "agent", "owner", "error_code"], name="usage_error_once"
            )
        ]
        indexes = [models.Index(fields=["team"], condition=Q(runs=0), name="usage_error_empty")]

    def __str__(self) -> str:
        return f"{self.runs} runs with {self.error_code}"


class UsageChange(models.Model):
    """A change of a run that its team's usage does not contain yet.

    Made by triggers (``runs/sql/usage.sql``) in the transaction of the change: the end of a run
    adds it (``sign`` 1), its erasure takes it away (-1). Without constraints to other tables, which
    would lock their rows.
    """

    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    sign = models.SmallIntegerField()
    agent = models.ForeignKey(
        Agent, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    agent_version = models.CharField(max_length=16, null=True)  # noqa: DJ001  as that of a run
    person = models.CharField(max_length=200)
    owner = models.CharField(max_length=LONGEST)
    created_at = models.DateTimeField()
    status = models.CharField(max_length=12)
    error_code = models.CharField(max_length=LONGEST_CODE, null=True)  # noqa: DJ001  as above
    tokens_in = models.BigIntegerField(null=True)
    tokens_out = models.BigIntegerField(null=True)
    tokens_cached = models.BigIntegerField(null=True)
    cost = models.FloatField(null=True)
    by_model = models.JSONField(null=True)
    questions = models.IntegerField(null=True)
    queued_ms = models.IntegerField(null=True)
    took_ms = models.BigIntegerField(null=True)

    class Meta:
        indexes = [models.Index(fields=["team", "id"], name="usage_change_of_team")]

    def __str__(self) -> str:
        return f"{self.sign:+d} run of {self.person}"


def _dollars(**options: Any) -> "models.FloatField[Any, Any]":
    return models.FloatField(
        validators=[MinValueValidator(0), MaxValueValidator(DEAREST)], **options
    )


class ModelPrice(TeamOwned):
    """A team's own price of a model: US dollars for a million tokens; ``*`` at the end of a name.

    It replaces the price of ``AGUI_PRICES`` for that name.
    """

    model = models.CharField(max_length=LONGEST_MODEL)
    input = _dollars()
    output = _dollars()
    cached = _dollars(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "model"], name="price_once_per_team"),
            models.CheckConstraint(
                condition=Q(input__gte=0, output__gte=0) & (Q(cached=None) | Q(cached__gte=0)),
                name="price_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return self.model

    @property
    def price(self) -> Price:
        """The price without its model."""
        return Price(self.input, self.output, self.cached)
