"""Journal, Event, Finding, Checkpoint, OutlinePage: the log of a run, and records about it.

Doomed: logs whose rows have yet to be deleted. Epoch: the database's histories. SealedObject and
SealedPart: logs of long ago, which are in objects of the file store.
"""

import uuid6
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from agui_host.backends.epochs import Written
from agui_host.backends.postgres import clock


class Journal(models.Model):
    """The event log of one run; ``head`` is its newest ``seq``, ``writer`` its fencing generation.

    A claim, a cancel or the reaper raises the generation; an older writer's batch then updates no
    row. The batch with the terminal event sets ``closed_at``. ``bytes`` is the size of all
    payloads. ``epoch`` is the database's at its creation, ``marks`` are pairs of a ``seq`` and the
    later epoch from it on: a trigger notes them when a writer takes the log over. A writer that
    only continues has lost nothing, and leaves no mark.
    """

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    head = models.IntegerField(default=0, editable=False)
    writer = models.IntegerField(default=0, editable=False)
    bytes = models.BigIntegerField(default=0, db_default=0, editable=False)
    closed_at = models.DateTimeField(null=True, editable=False)
    epoch = models.BigIntegerField(db_default=1, editable=False)
    marks = ArrayField(models.BigIntegerField(), null=True, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(head__gte=0), name="journal_head_not_below_0")
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def written(self) -> Written:
        """In which epochs its events were written."""
        return Written(self.epoch, self.marks)


class Event(models.Model):
    """One row of a journal: ``payload`` is the exact JSON text that is sent.

    The table is partitioned by month of ``journal_id`` (a UUIDv7). There is no foreign key in
    the database and no second index: the fence already proves that the journal exists, and both
    cost a third of the append rate.
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


class Finding(models.Model):
    """A rule of AG-UI that an agent broke at ``seq``, and what intake did about it.

    It is never part of the log: whatever is in an event stays on the client's messages. ``times``
    is more than 1 if a run had too many findings to store each (``protocol/intake/findings.py``).
    """

    journal = models.ForeignKey(Journal, on_delete=models.CASCADE, related_name="findings")
    seq = models.IntegerField()
    rule = models.CharField(max_length=20)
    action = models.CharField(max_length=20)
    times = models.PositiveIntegerField(default=1)
    at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return f"{self.journal_id}:{self.seq} {self.rule} {self.action}"


class Checkpoint(models.Model):
    """The fold of a journal's events up to ``seq``, as ``Fold.dump`` writes it.

    Only a shortcut: without it the same fold is made from the events (ADR 0002).
    """

    pk = models.CompositePrimaryKey("journal_id", "seq")
    journal = models.ForeignKey(
        Journal,
        on_delete=models.CASCADE,
        db_constraint=False,
        db_index=False,
        related_name="checkpoints",
    )
    seq = models.IntegerField()
    fold = models.TextField()

    def __str__(self) -> str:
        return f"{self.journal_id}:{self.seq}"


class OutlinePage(models.Model):
    """Rows of an ended run's outline, a JSON text per line; page 0 has their extent.

    ``rows`` is compressed: quoting and sending megabytes of JSON took longer than folding the log.
    ``changed`` is the newest event that changed one of them. Only a shortcut: without it the same
    rows are made from the events (``events/outlines.py``).
    """

    pk = models.CompositePrimaryKey("journal_id", "page")
    journal = models.ForeignKey(
        Journal,
        on_delete=models.CASCADE,
        db_constraint=False,
        db_index=False,
        related_name="outline_pages",
    )
    page = models.IntegerField()
    changed = models.IntegerField()
    rows = models.BinaryField()

    def __str__(self) -> str:
        return f"{self.journal_id}: {self.page}"


class Doomed(models.Model):
    """An erased or sealed log: ``purge.sweep`` deletes its rows, which have no readers, in steps.

    Rows up to ``swept`` are deleted, ``last`` is the last one. There is no foreign key: the journal
    is deleted with an erased run, but stays with a run whose retention has passed.
    """

    journal_id = models.UUIDField(primary_key=True)
    swept = models.IntegerField(default=0)
    last = models.IntegerField()

    def __str__(self) -> str:
        return f"{self.journal_id}: {self.swept} of {self.last} gone"


class SealedObject(models.Model):
    """An object of the file store with sealed logs of one team, which is its ``place``.

    The row is there before the bytes and goes after them, so no bytes are left behind. Only parts
    that a SealedPart refers to are read. ``size`` is in bytes, ``logs`` the number of logs.
    """

    class State(models.TextChoices):
        """Being written; in use; in use, but with an erased log; to be deleted."""

        WRITING = "writing"
        SEALED = "sealed"
        STALE = "stale"
        DOOMED = "doomed"

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    place = models.UUIDField(editable=False)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WRITING)
    size = models.BigIntegerField(default=0, editable=False)
    logs = models.IntegerField(default=0, editable=False)
    began_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        indexes = [
            models.Index(
                fields=["began_at"],
                condition=~models.Q(state="sealed"),
                name="sealed_object_with_work",
            )
        ]

    def __str__(self) -> str:
        return f"{self.id} ({self.state})"


class SealedPart(models.Model):
    """Events ``first`` to ``last`` of a sealed log: in a block of an object.

    The log is sealed exactly as long as it has parts; its rows are never read then.
    """

    pk = models.CompositePrimaryKey("journal_id", "first")
    journal = models.ForeignKey(
        Journal,
        on_delete=models.CASCADE,
        db_constraint=False,
        db_index=False,
        related_name="sealed_parts",
    )
    first = models.IntegerField()
    last = models.IntegerField()
    object = models.ForeignKey(SealedObject, on_delete=models.RESTRICT, related_name="parts")
    place = models.UUIDField()
    offset = models.BigIntegerField()
    length = models.IntegerField()

    def __str__(self) -> str:
        return f"{self.journal_id}: {self.first} to {self.last}"


class Epoch(models.Model):
    """One history of the database: it begins with a promotion, or ``migrate --restored``.

    ``timeline`` is PostgreSQL's. Only ``agui_epoch`` and ``agui_begin_epoch`` write it.
    """

    number = models.BigIntegerField(primary_key=True)
    timeline = models.BigIntegerField(null=True)
    began_at = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.number)
