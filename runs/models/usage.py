"""The counts that admission keeps for a team."""

from django.db import models

from agui_host.teams.models import Team


class TeamUsage(models.Model):
    """Admission's data about a team, and the row it locks: one process admits at a time.

    ``stamp`` is the position of the team's next run in virtual time
    (``runs/lifecycle/admission.py``); ``stored_bytes`` the size of its ended runs' events.
    """

    team = models.OneToOneField(
        Team, primary_key=True, on_delete=models.CASCADE, related_name="usage"
    )
    stamp = models.BigIntegerField(default=0, db_default=0)
    stored_bytes = models.BigIntegerField(default=0, db_default=0)

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
