"""Schedule: starts runs of an agent at the times of a cron expression, or once."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from agui_host.backends.postgres import clock
from agui_host.protocol.input.run_agent_input import OnBusy
from agui_host.teams.actors import LONGEST
from agui_host.teams.tenancy import TeamOwned


class ThreadPolicy(models.TextChoices):
    """Where the runs of a schedule go: a thread each, or one for all of them."""

    NEW = "new"
    FIXED = "fixed"


class Missed(models.TextChoices):
    """What happens to ticks that came while no process of the host was there."""

    SKIP = "skip"
    ONCE = "once"
    ALL = "all"


class StopReason(models.TextChoices):
    """Why a schedule has no next tick."""

    PAUSED = "paused"
    FINISHED = "finished"
    OWNER_LEFT = "owner_left"
    KEY_REVOKED = "key_revoked"
    NO_ACCESS = "no_access"


class Schedule(TeamOwned):
    """When runs start by themselves, with which input, and in whose name.

    ``cron`` in ``time_zone``, or ``run_at`` for one run. ``input`` is JSON: a RunAgentInput without
    its ids, with placeholders (``lifecycle/schedules/template.py``). ``owner`` is the ``actor_id``
    behind the label ``runs_as``: its rights at the time of a tick decide. ``last_tick`` is the
    newest tick that was dealt with, at ``last_at``: it started ``last_run``, or was refused with
    ``last_code`` and ``last_message``.

    The transaction that starts a tick's run moves ``next_at`` on under the row's lock, and
    ``next_at`` only ever moves forward: so no tick starts two runs.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    name = models.CharField(max_length=120, blank=True, default="")
    agent = models.CharField(max_length=64)
    cron = models.CharField(max_length=200, blank=True, default="")
    time_zone = models.CharField(max_length=64, default="UTC")
    run_at = models.DateTimeField(null=True)
    input = models.TextField(default="{}")
    thread = models.CharField(
        max_length=5, choices=ThreadPolicy.choices, default=ThreadPolicy.NEW.value
    )
    thread_id = models.CharField(max_length=255, blank=True, default="")
    on_busy = models.CharField(
        max_length=20, choices=[(each.value, each.value) for each in OnBusy], blank=True, default=""
    )
    missed = models.CharField(max_length=4, choices=Missed.choices, default=Missed.ONCE.value)
    next_at = models.DateTimeField(null=True)
    stopped = models.CharField(max_length=12, choices=StopReason.choices, blank=True, default="")
    last_tick = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)
    last_run = models.UUIDField(null=True)
    last_code = models.CharField(max_length=60, blank=True, default="")
    last_message = models.TextField(blank=True, default="")
    runs_as = models.CharField(max_length=200)
    owner = models.CharField(max_length=LONGEST)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(cron="", run_at__isnull=False) | (~Q(cron="") & Q(run_at=None)),
                name="schedule_cron_or_run_at",
            ),
            models.CheckConstraint(
                condition=Q(thread=ThreadPolicy.NEW, thread_id="")
                | (Q(thread=ThreadPolicy.FIXED) & ~Q(thread_id="")),
                name="schedule_thread_id_exactly_when_fixed",
            ),
            models.CheckConstraint(
                condition=Q(missed__in=Missed.values), name="schedule_missed_known"
            ),
            models.CheckConstraint(
                condition=Q(stopped="", next_at__isnull=False)
                | Q(stopped__in=StopReason.values, next_at=None),
                name="schedule_stopped_exactly_without_next",
            ),
            models.CheckConstraint(
                condition=Q(next_at=None) | Q(last_tick=None) | Q(next_at__gt=F("last_tick")),
                name="schedule_moves_forward",
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_at"], condition=Q(next_at__isnull=False), name="schedule_due"
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.cron or f"{self.agent} at {self.run_at}"
