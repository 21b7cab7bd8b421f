"""What people say about a run (comments, mentions, ratings), and to one that has not ended."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agui_host.backends.postgres import clock
from agui_host.protocol.fold.outline_row import LONGEST_ID
from agui_host.teams.actors import LONGEST
from agui_host.teams.tenancy import TeamOwned


class Comment(TeamOwned):
    """A comment on a run; ``seq`` is the event it is about, null for all of it.

    ``author`` is a label to show, ``writer`` the ``actor_id`` that decides who owns it.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="comments")
    seq = models.PositiveIntegerField(null=True)
    text = models.TextField()
    author = models.CharField(
        max_length=200, help_text="Who wrote it: the label of a person or a key."
    )
    writer = models.CharField(max_length=LONGEST, blank=True, default="", db_default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    not_reached: tuple[str, ...] | list[str] = ()
    """Of a comment that was just written: members it names who may not see the run."""

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(seq=None) | Q(seq__gte=1), name="comment_on_an_event_or_a_run"
            ),
            models.CheckConstraint(condition=~Q(text=""), name="comment_says_something"),
        ]

    def __str__(self) -> str:
        return f"{self.author} on {self.run_id}"


class Mention(TeamOwned):
    """A member of the team whom a comment names with ``@``.

    ``noticed_at`` is when a worker has taken it to notify the member's browsers.
    """

    comment = models.ForeignKey(Comment, on_delete=models.CASCADE, related_name="mentions")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="mentions"
    )
    # Null for rows from before the column: they are no news.
    created_at = models.DateTimeField(null=True, db_default=Now(), editable=False)
    noticed_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["comment", "user"], name="mention_once_per_comment")
        ]
        indexes = [
            # the news that workers look for (runs/access/notices/news.py)
            models.Index(
                fields=["created_at"], condition=Q(noticed_at=None), name="mention_not_noticed"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.comment_id}"


class Thumb(models.TextChoices):
    """A person's rating of a run, or of an answer in it."""

    UP = "up"
    DOWN = "down"


class Feedback(TeamOwned):
    """A thumb and a text: one per person and answer, or per person and whole run.

    ``message_id`` is the answer, a message that the agent wrote in this run; empty for the run.
    """

    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="feedback")
    author = models.CharField(max_length=200)
    writer = models.CharField(max_length=LONGEST, blank=True, default="", db_default="")
    message_id = models.CharField(max_length=LONGEST_ID, blank=True, default="", db_default="")
    thumb = models.CharField(max_length=4, choices=Thumb.choices)
    text = models.TextField(blank=True, default="")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "writer", "message_id"],
                condition=~Q(writer=""),  # rows of deleted accounts, from before ids were stored
                name="feedback_once_per_answer",
            ),
            models.CheckConstraint(
                condition=Q(thumb__in=Thumb.values), name="feedback_thumb_known"
            ),
        ]
        indexes = [
            # the list of rated runs (runs/api/filters.py)
            models.Index(fields=["team", "thumb", "-run"], name="feedback_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.thumb} by {self.author}"


class RunMessage(TeamOwned):
    """A message that a person sent to a run while it was active (docs/howto-steer.md).

    ``seq`` numbers the messages of a run from 1, in the order of their commits. ``seen_seq`` is the
    event with which the agent read it, set in the transaction that stores this event.
    ``carried_by`` is the later run whose input brings a message that was never read.
    ``withdrawn_at``: its sender has lost access before an agent read it, so none will.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="messages")
    seq = models.PositiveIntegerField()
    message_id = models.TextField()
    content = models.TextField()
    author = models.CharField(max_length=200, help_text="The label of a person or a key.")
    writer = models.CharField(max_length=LONGEST)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    seen_seq = models.PositiveIntegerField(null=True)
    seen_at = models.DateTimeField(null=True)
    carried_by = models.ForeignKey(
        "runs.Run", on_delete=models.SET_NULL, null=True, related_name="carried_messages"
    )
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["run", "seq"]
        constraints = [
            models.UniqueConstraint(fields=["run", "seq"], name="run_message_number_once"),
            models.UniqueConstraint(fields=["run", "message_id"], name="run_message_id_once"),
            models.CheckConstraint(condition=~Q(content=""), name="run_message_not_empty"),
        ]
        indexes = [
            models.Index(
                fields=["run", "seq"], condition=Q(seen_seq=None), name="run_message_unread"
            ),
        ]

    def __str__(self) -> str:
        return f"message {self.seq} to {self.run_id}"
