"""Effect: a call that an agent makes at most once in its run (``ctx.once``)."""

from django.db import models
from django.db.models.functions import Now

from agui_host.teams.models import Team
from agui_host.teams.tenancy import TeamOwned
from runs.models.run import Run


class EffectStatus(models.TextChoices):
    """How far an effect came. An attempt that is gone leaves ``unverified`` ones."""

    STARTED = "started"
    DONE = "done"
    FAILED = "failed"
    UNVERIFIED = "unverified"


class Effect(TeamOwned):
    """One key of ``ctx.once``: the digest of its arguments, how far it came, and its value.

    Host-internal: no reader of the run's log ever gets one (ADR 0015). ``generation`` is that of
    the journal's writer whose attempt has started it; only that attempt can finish it. ``value``
    is JSON text, ``seq`` the last event that was stored when the effect started. ``read_by`` is the
    newest attempt that got the value in place of a call.
    """

    id = models.BigAutoField(primary_key=True)
    # Without constraints: an effect waits for no lock of another transaction.
    run = models.ForeignKey(
        Run, on_delete=models.CASCADE, related_name="effects", db_constraint=False, db_index=False
    )
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    status = models.CharField(
        max_length=10, choices=EffectStatus.choices, default=EffectStatus.STARTED
    )
    generation = models.IntegerField()
    attempt = models.PositiveSmallIntegerField(default=1)
    read_by = models.PositiveSmallIntegerField(null=True)
    version = models.CharField(max_length=32, blank=True, default="")
    seq = models.IntegerField(default=0)
    value = models.TextField(null=True)  # noqa: DJ001
    bytes = models.IntegerField(default=0)
    started_at = models.DateTimeField(db_default=Now(), editable=False)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "key"], name="effect_once_per_run"),
            models.CheckConstraint(
                condition=models.Q(status__in=EffectStatus.values), name="effect_status_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.key} ({self.status})"
