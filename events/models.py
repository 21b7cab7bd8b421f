"""Journal and Event: the gap-free, numbered log of one run, and its rows."""

import uuid6
from django.db import models
from django.db.models.functions import Now


class Journal(models.Model):
    """The event log of one run; ``head`` is its newest ``seq``, ``writer`` its fencing generation.

    Whoever claims, reaps or cancels takes the generation over; an older writer's batch then
    updates no row. ``closed_at`` is set by the batch that carries the terminal event.
    """

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    head = models.IntegerField(default=0, editable=False)
    writer = models.IntegerField(default=0, editable=False)
    closed_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(head__gte=0), name="journal_head_not_below_0")
        ]

    def __str__(self) -> str:
        return str(self.id)


class Event(models.Model):
    """One row of a journal: ``payload`` is the exact JSON text that goes on the wire.

    The table is partitioned by month of ``journal_id`` (a UUIDv7). There is no foreign key in
    the database and no second index: the fence already proves that the journal exists, and both
    cost a third of the append rate (DESIGN section 5).
    """

    pk = models.CompositePrimaryKey("journal_id", "seq")
    journal = models.ForeignKey(
        Journal,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="events",
    )
    seq = models.IntegerField()
    at = models.DateTimeField(db_default=Now())
    type = models.TextField()
    payload = models.TextField()

    def __str__(self) -> str:
        return f"{self.journal_id}:{self.seq} {self.type}"
