"""Thread: a conversation, and the fold of its ended runs."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from backends.postgres import clock
from teams.actors import LONGEST
from teams.tenancy import TeamOwned


class Visibility(models.TextChoices):
    """Which members see a thread: all, or only its starter and those with a grant."""

    TEAM = "team"
    PRIVATE = "private"


class Thread(TeamOwned):
    """A conversation. ``thread_id`` is the client's name for it, unique inside the team only.

    ``created_by`` is the label of the principal whose run began it; ``creator`` its ``actor_id``,
    which decides who sees a private thread. While it has a ``legal_hold``, nothing in the thread is
    purged or erased.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    thread_id = models.CharField(max_length=255)
    created_by = models.CharField(max_length=200, blank=True, default="")
    creator = models.CharField(max_length=LONGEST, blank=True, default="", db_default="")
    legal_hold = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    visibility = models.CharField(
        max_length=10, choices=Visibility.choices, default=Visibility.TEAM
    )
    title = models.CharField(max_length=200, blank=True, default="")
    tags = ArrayField(models.CharField(max_length=60), default=list, blank=True)
    archived_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "thread_id"], name="thread_once_per_team"),
            models.CheckConstraint(
                condition=Q(visibility__in=Visibility.values), name="thread_visibility_known"
            ),
        ]

    def __str__(self) -> str:
        return self.thread_id


class ThreadHistory(models.Model):
    """The fold of a thread's ended runs, stored so that long threads stay cheap.

    ``fold`` is what ``protocol.fold.fold.Fold.dump`` wrote after the run ``through``.
    """

    thread = models.OneToOneField(
        Thread, primary_key=True, on_delete=models.CASCADE, related_name="history"
    )
    fold = models.TextField()
    through = models.UUIDField()

    def __str__(self) -> str:
        return f"history of {self.thread_id}"
