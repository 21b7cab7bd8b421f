"""FeedEntry: what happened to a team's runs and questions, for readers of the team's feed."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agui_host.protocol.ids import FIRST_EPOCH, Position
from agui_host.teams.tenancy import TeamOwned
from runs.models.interrupt import InterruptStatus
from runs.models.run import Run, Status


class FeedEntry(TeamOwned):
    """A run or question has this ``status`` since then; ``interrupt`` is null for a run.

    A trigger makes it in the transaction that changes the status, so it is there if and only if the
    change is. Transactions commit in another order than they take ids, so an entry has no
    ``position`` until a reader of the team numbers what is committed (``lifecycle/feed.py``):
    whatever is committed later gets a later one, and a reader's cursor never skips an entry.
    ``epoch`` is the database's at that moment: a history that went back gives the number again.
    """

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    interrupt = models.UUIDField(null=True)
    status = models.CharField(max_length=12)
    at = models.DateTimeField(db_default=Now(), editable=False)
    position = models.BigIntegerField(null=True)
    epoch = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "position"],
                condition=Q(position__isnull=False),
                name="feed_position_once_per_team",
            ),
        ]
        indexes = [
            models.Index(fields=["team", "id"], condition=Q(position=None), name="feed_unnumbered"),
            models.Index(fields=["at"], name="feed_oldest"),
        ]

    @property
    def cursor(self) -> Position:
        """What a reader who has it continues from; only of a numbered entry."""
        return Position(self.position or 0, self.epoch or FIRST_EPOCH)

    @property
    def event(self) -> str:
        """The name of what happened."""
        return (Status if self.interrupt is None else InterruptStatus)(self.status).event

    def __str__(self) -> str:
        return f"{self.run_id} {self.status}"
