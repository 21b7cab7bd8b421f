"""Ingest: how far a run that is executed elsewhere has been fed."""

from django.db import models
from django.db.models import Q

from runs.models.run import Run


class Ingest(models.Model):
    """The producer of a run, its newest batch, and what its next one needs.

    ``producer`` feeds in ``epoch``, and its newest batch is ``seq``; both are -1 before the first.
    ``generation`` is the run's right to append (``events/journal.py``), ``memory`` the intake's
    state that is not in the log (``agui_host/protocol/intake/fed.py``). Silence since ``seen_at``
    for longer than the lease ends the run. It must end by ``ends_at``. ``paced_until`` is when its
    events would have come at its team's pace.
    """

    run = models.OneToOneField(
        Run, primary_key=True, on_delete=models.CASCADE, related_name="ingest"
    )
    producer = models.CharField(max_length=255, blank=True, default="")
    epoch = models.BigIntegerField(default=-1)
    seq = models.BigIntegerField(default=-1)
    generation = models.IntegerField()
    memory = models.TextField()
    seen_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    paced_until = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(epoch=-1, seq=-1) | Q(epoch__gte=0, seq__gte=0),
                name="ingest_place_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}: {self.producer} {self.epoch}.{self.seq}"
