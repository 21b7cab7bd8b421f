"""Budget: how many tokens or dollars runs can spend, in total or in each day or month."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agui_host.backends.postgres import clock
from agui_host.teams.tenancy import TeamOwned


class BudgetScope(models.TextChoices):
    """Whose runs a budget counts."""

    AGENT = "agent"
    TEAM = "team"
    PERSON = "person"
    THREAD = "thread"
    RUN = "run"
    KEY = "key"


class Unit(models.TextChoices):
    """The things that a budget counts."""

    TOKENS = "tokens"
    COST = "cost"


class Period(models.TextChoices):
    """How often a budget begins again, in UTC by the database's clock."""

    DAY = "day"
    MONTH = "month"


class AtLimit(models.TextChoices):
    """The end of a run that has spent the budget."""

    END = "end"
    ASK = "ask"


class Budget(TeamOwned):
    """``key`` is the id by which runs match (``Spent.keys``), ``of`` the name that was given.

    ``used`` counts since ``since``, the start of the present period. ``reserve`` is kept free for
    the next model call of each other run that is going; null: as much as the ``largest`` of the
    ``calls`` that were counted. All functions that change ``used`` are in
    ``runs/sql/budgets.sql``; they lock the budgets of one team in the order of their ids. A trigger
    there sets ``warned_since`` to ``since`` when it has warned.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    scope = models.CharField(max_length=6, choices=BudgetScope.choices)
    of = models.CharField(max_length=255)
    key = models.CharField(max_length=255)
    unit = models.CharField(max_length=6, choices=Unit.choices)
    max = models.DecimalField(max_digits=24, decimal_places=6)
    reserve = models.DecimalField(max_digits=24, decimal_places=6, null=True)
    largest = models.DecimalField(max_digits=24, decimal_places=6, default=0, db_default=0)
    calls = models.BigIntegerField(default=0, db_default=0)
    period = models.CharField(max_length=5, choices=Period.choices, blank=True, default="")
    at_limit = models.CharField(max_length=3, choices=AtLimit.choices, default=AtLimit.END.value)
    used = models.DecimalField(max_digits=24, decimal_places=6, default=0, db_default=0)
    since = models.DateTimeField(db_default=Now(), editable=False)
    warned_since = models.DateTimeField(null=True, editable=False)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(max__gte=0), name="budget_max_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.unit} of {self.scope} {self.of}"

    @property
    def is_spent(self) -> bool:
        """Whether nothing of it is left."""
        return bool(self.used >= self.max)


class BudgetedRun(TeamOwned):
    """The spending of a run so far, of which ``Spent`` has the parts; removed after its end.

    A run that ``waits`` for room in a budget, since ``asked_at``, has no reserve in it.
    """

    run_id = models.UUIDField(primary_key=True)
    keys = ArrayField(models.TextField())
    tokens = models.BigIntegerField(default=0, db_default=0)
    cost = models.DecimalField(max_digits=24, decimal_places=6, default=0, db_default=0)
    waits = models.BooleanField(default=False, db_default=False)
    asked_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return str(self.run_id)


class Spent(TeamOwned):
    """Spending that the team's budgets do not count yet; counting it deletes it.

    Rows are only added and deleted, so that the end of a run waits for no other run's.
    """

    id = models.BigAutoField(primary_key=True)
    run_id = models.UUIDField()
    keys = ArrayField(models.TextField())
    tokens = models.BigIntegerField()
    cost = models.DecimalField(max_digits=24, decimal_places=6)
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"spent by {self.run_id}"
