"""Failure: why a run failed, for the people who look after its agent."""

from django.db import models

from agui_host.teams.models import Team
from agui_host.teams.tenancy import TeamOwned
from runs.models.run import Run


class Failure(TeamOwned):
    """The exception of an agent and the last lines of its log, stored with the run's end.

    ``details`` is JSON as ``runs/worker/failures.py`` makes it, without secrets, of bounded size.
    Only ``runs/access/inspect/failures.py`` reads it: it is in no run, event, outline or shared
    page, and in no list but that of issues, for people who manage the agents. Failures of one
    ``fingerprint`` were raised at the same place, and are one issue.
    """

    run = models.OneToOneField(
        Run,
        primary_key=True,
        on_delete=models.CASCADE,
        related_name="failure",
        db_constraint=False,
    )
    # The writer stores it in its group commit, which waits for no lock of another transaction.
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    details = models.TextField()
    fingerprint = models.CharField(max_length=32, blank=True, default="", db_default="")

    class Meta:
        indexes = [
            models.Index(
                fields=["team", "fingerprint", "-run"],
                condition=~models.Q(fingerprint=""),
                name="failure_team_alike",
            ),
        ]

    def __str__(self) -> str:
        return f"failure of {self.run_id}"
