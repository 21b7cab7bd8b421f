"""Thread: a conversation, and the fold of its ended runs."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agui_host.backends.postgres import clock
from agui_host.teams.actors import LONGEST
from agui_host.teams.tenancy import TeamOwned
from runs.models.texts import PiecedText


class Visibility(models.TextChoices):
    """Which members see a thread: all, or only its starter and those with a grant."""

    TEAM = "team"
    PRIVATE = "private"


class Thread(TeamOwned):
    """A conversation. ``thread_id`` is the client's name for it, unique inside the team only.

    ``created_by`` is the label of the principal whose run began it; ``creator`` its ``actor_id``,
    which decides who sees a private thread. While it has a ``legal_hold``, nothing in the thread is
    purged or erased. ``metadata`` is JSON of a client of OpenAI's conversations, or empty.
    ``chat_digest`` is that of the messages of the newest chat completion in it, and ``chat_by`` the
    ``actor_id`` of who asked for that. ``newest`` is the newest run, set by the
    insertion of a run (``runs/sql/threads.sql``).
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
    metadata = models.TextField(blank=True, default="", db_default="")
    chat_digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    chat_by = models.CharField(max_length=LONGEST, blank=True, default="", db_default="")
    archived_at = models.DateTimeField(null=True)
    newest = models.UUIDField(null=True, editable=False)

    class Meta:
        indexes = [
            # the list of a team's threads, newest activity first
            models.Index(
                fields=["team", "-newest"],
                condition=Q(newest__isnull=False),
                name="thread_team_newest",
            ),
            # the same, of archived threads and of those with a tag: a few of many
            models.Index(
                fields=["team", "-newest"],
                condition=Q(newest__isnull=False, archived_at__isnull=False),
                name="thread_archived_newest",
            ),
            GinIndex(fields=["tags"], condition=~Q(tags=[]), name="thread_tagged"),
            # a chat completion's thread, by the messages before its newest one
            models.Index(
                fields=["team", "chat_by", "chat_digest", "-id"],
                condition=~Q(chat_digest=""),
                name="thread_by_chat",
            ),
        ]
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

    ``fold`` is what ``agui_host.protocol.fold.fold.Fold.dump`` wrote after the run ``through``;
    ``rewritten_at`` is when a client last changed it without a run.
    """

    thread = models.OneToOneField(
        Thread, primary_key=True, on_delete=models.CASCADE, related_name="history"
    )
    fold = PiecedText()
    through = models.UUIDField()
    rewritten_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["rewritten_at"],
                condition=Q(rewritten_at__isnull=False),
                name="history_rewritten",
            )
        ]

    def __str__(self) -> str:
        return f"history of {self.thread_id}"
