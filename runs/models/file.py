"""File: a team's upload; FileReference: a thread whose messages refer to it."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agui_host.backends.postgres import clock
from agui_host.teams.actors import LONGEST
from agui_host.teams.tenancy import TeamOwned
from runs.models.thread import Thread

LONGEST_NAME = 255


class File(TeamOwned):
    """An uploaded file; its bytes are in the file store under ``key``.

    The row is there before the bytes and goes after them, so no bytes are ever left behind. Until
    ``stored_at`` they are arriving, and ``size`` is how many can come. A file past ``expires_at``
    does not exist for anyone and is swept; None while a thread refers to the file (triggers see to
    that). ``creator`` is the ``actor_id`` behind the label ``created_by``.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    name = models.CharField(max_length=LONGEST_NAME)
    media_type = models.CharField(max_length=127)
    size = models.BigIntegerField()
    sha256 = models.CharField(max_length=64, blank=True, default="")
    created_by = models.CharField(max_length=200)
    creator = models.CharField(max_length=LONGEST)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    stored_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(size__gte=0), name="file_size_not_negative"),
            models.CheckConstraint(
                condition=Q(stored_at=None, sha256="")
                | (Q(stored_at__isnull=False) & ~Q(sha256="")),
                name="file_sha256_exactly_when_stored",
            ),
            models.CheckConstraint(
                condition=Q(stored_at__isnull=False) | Q(expires_at__isnull=False),
                name="file_stored_or_expiring",
            ),
        ]
        indexes = [
            models.Index(fields=["team", "-id"], name="file_team_newest"),
            models.Index(
                fields=["expires_at"],
                condition=Q(expires_at__isnull=False),
                name="file_expiring",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def key(self) -> str:
        """The name of its bytes in the file store."""
        return f"{self.team_id}/{self.pk}"


class FileReference(TeamOwned):
    """A message of this thread refers to this file, which stays as long as the conversation."""

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="files")
    file = models.ForeignKey(File, on_delete=models.RESTRICT, related_name="references")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["thread", "file"], name="file_once_per_thread"),
        ]

    def __str__(self) -> str:
        return f"{self.file_id} in {self.thread_id}"
