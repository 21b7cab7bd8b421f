"""Alert: a measure of a team's runs that is compared with a threshold every minute."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agui_host.backends.postgres import clock
from agui_host.teams.tenancy import TeamOwned
from runs.models.notices.notice import Way
from runs.models.saved_view import LONGEST_QUERY


class Measure(models.TextChoices):
    """The figures that an alert can watch."""

    FAILED_RUNS = "failed_runs", "Failed runs"
    FAILURE_RATE = "failure_rate", "Failed runs in percent"
    P95_DURATION = "p95_duration", "Seconds that 95 % of runs take at most"
    COST = "cost", "Cost in US dollars"
    WAITING_QUESTIONS = "waiting_questions", "Questions that wait"
    RUNS = "runs", "Runs"
    DOUBLE_CALLS = "double_calls", "Tool calls made twice"


class AlertState(models.TextChoices):
    OK = "ok"
    FIRING = "firing"


class Alert(TeamOwned):
    """Fires while ``measure`` is at least ``threshold`` over the latest ``window_hours``.

    Only runs in threads of the team count: everybody in it sees its alerts. ``agent`` is a slug,
    ``person`` the label of a person or key (``started_by``); empty for all. ``query`` has the other
    filters of the saved view that it was made of (``status=failed&tag=vip``). ``value`` is that of
    the check at ``checked_at``, None for one without runs. An alert that fires is calm since
    ``calm_since``, if its value is clearly below the threshold; it ends after a while of that
    (``runs/access/alerts/states.py``). Its history are its notices.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    name = models.CharField(max_length=120)
    measure = models.CharField(max_length=17, choices=Measure.choices)
    threshold = models.FloatField()
    window_hours = models.PositiveSmallIntegerField()
    least_runs = models.PositiveIntegerField(default=1)
    agent = models.CharField(max_length=64, blank=True, default="")
    person = models.CharField(max_length=200, blank=True, default="")
    query = models.CharField(max_length=LONGEST_QUERY, blank=True, default="", db_default="")
    tell = ArrayField(models.CharField(max_length=7, choices=Way.choices))
    enabled = models.BooleanField(default=True)
    snoozed_until = models.DateTimeField(null=True)
    state = models.CharField(
        max_length=6, choices=AlertState.choices, default=AlertState.OK.value, editable=False
    )
    value = models.FloatField(null=True, editable=False)
    checked_at = models.DateTimeField(null=True, editable=False)
    fired_at = models.DateTimeField(null=True, editable=False)
    calm_since = models.DateTimeField(null=True, editable=False)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(threshold__gt=0), name="alert_has_threshold"),
            models.CheckConstraint(condition=~Q(name=""), name="alert_has_name"),
        ]
        indexes = [
            # whose turn it is (runs/access/alerts/checking.py)
            models.Index(fields=["checked_at"], condition=Q(enabled=True), name="alert_due")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_snoozed(self) -> bool:
        """Whether it tells nothing at present."""
        return self.snoozed_until is not None and self.snoozed_until > clock.now()
