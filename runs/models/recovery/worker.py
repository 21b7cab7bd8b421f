"""Worker: a process that executes runs, and how long ago it was alive."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now


class Worker(models.Model):
    """One worker; its row is there from its start to its end.

    ``queues`` are those of the agents whose runs it takes, ``free`` is how many more runs have room
    at its last heartbeat. A ``draining`` one takes no more. ``chores`` is its registration in
    Procrastinate, which runs the chores. ``searches`` is the number of its newest search for runs
    that are its own but not executed there. Web processes of its machine hand it runs by its
    ``link``. It answers scrapes at ``scraped_at``; empty: nowhere.
    """

    id = models.BigAutoField(primary_key=True)
    heartbeat = models.DateTimeField(db_default=Now())
    queues = ArrayField(models.TextField())
    free = models.IntegerField()
    draining = models.BooleanField(default=False, db_default=False)
    chores = models.BigIntegerField(null=True)
    link = models.UUIDField(null=True)
    searches = models.BigIntegerField(default=0, db_default=0)
    scraped_at = models.TextField(default="", db_default="")

    def __str__(self) -> str:
        return f"{self.id}: {', '.join(self.queues)}"
