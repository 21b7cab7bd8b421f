"""Piece: a part of texts of a thread that repeat each other."""

from django.db import models

from agui_host.teams.models import Team
from agui_host.teams.tenancy import TeamOwned
from runs.models.thread import Thread


class Piece(TeamOwned):
    """A part that inputs of a thread's runs, or its stored fold, have in common (ADR 0016).

    ``digest`` is the SHA-256 of ``body``. It belongs to one thread, and is deleted with it; before
    that, ``agui_drop_pieces`` deletes it once no text of the thread refers to it.
    """

    id = models.BigAutoField(primary_key=True)
    # Their index begins with the thread; a thread is deleted before its team.
    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="+", db_index=False)
    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    digest = models.BinaryField(max_length=32)
    body = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["thread", "digest"], name="piece_once_per_thread")
        ]

    def __str__(self) -> str:
        return f"piece {self.pk}"
