"""Recovery: a run that lost its worker, and is continued by another one."""

from django.db import models
from django.db.models.functions import Now

from agui_host.protocol.errors import RunErrorCode
from agui_host.teams.models import Team
from agui_host.teams.tenancy import TeamOwned
from runs.models.run import Run


class Reason(models.TextChoices):
    """Why a run needs another worker."""

    WORKER_LOST = RunErrorCode.WORKER_LOST.value
    SHUTDOWN = RunErrorCode.SHUTDOWN.value


class Recovery(TeamOwned):
    """The beginning of a run's further attempt; ``number`` is the attempt's, from 2 on.

    ``seq`` is the last event of the attempt before. A worker sets ``taken_at`` when it continues
    the run. A loss that does not count was another run's fault, as far as the host can judge
    (``runs/lifecycle/recovery/probation.py``).
    """

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(
        Run,
        on_delete=models.CASCADE,
        related_name="recoveries",
        db_constraint=False,
        db_index=False,
    )
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    number = models.PositiveSmallIntegerField()
    seq = models.IntegerField()
    reason = models.CharField(max_length=12, choices=Reason.choices)
    at = models.DateTimeField(db_default=Now(), editable=False)
    taken_at = models.DateTimeField(null=True)
    counts = models.BooleanField(default=True, db_default=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="recovery_number_once"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.run_id}"
