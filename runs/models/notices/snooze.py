"""Snooze: a question that is out of one person's inbox for a while."""

from django.db import models

from agui_host.teams.actors import LONGEST
from agui_host.teams.tenancy import TeamOwned


class Snooze(TeamOwned):
    """``sleeper`` is the ``actor_id`` of a person or key who sees the question again ``until``."""

    interrupt = models.ForeignKey(
        "runs.Interrupt", on_delete=models.CASCADE, related_name="snoozes"
    )
    sleeper = models.CharField(max_length=LONGEST)
    until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["interrupt", "sleeper"], name="snooze_once")]

    def __str__(self) -> str:
        return f"{self.interrupt_id} until {self.until}"
