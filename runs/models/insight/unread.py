"""UnreadRun: a run that has ended and whose tool calls and failure have still to be read."""

from django.db import models

from agui_host.teams.models import Team


class UnreadRun(models.Model):
    """A run for ``runs/lifecycle/insight/reading.py``.

    Made by a trigger (``runs/sql/insight.sql``) in the transaction that ends the run, unless it
    succeeded without a tool call. Not a foreign key, which would lock its row.
    """

    run_id = models.UUIDField(primary_key=True)
    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )

    class Meta:
        indexes = [models.Index(fields=["team", "run_id"], name="unread_of_team")]

    def __str__(self) -> str:
        return f"unread {self.run_id}"
