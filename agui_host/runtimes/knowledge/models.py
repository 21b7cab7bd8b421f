"""A team's knowledge for its agents' context: documents, shared notes, people's profiles."""

import uuid6
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector, SearchVectorField
from django.db import models
from django.db.models.functions import Now

from agui_host.teams.models import Membership
from agui_host.teams.tenancy import TeamOwned

NOTE = 4_000
"""How many characters a note or a profile may have."""


class MediaType(models.TextChoices):
    """The types that can be uploaded: text only."""

    PLAIN = "text/plain"
    MARKDOWN = "text/markdown"
    CSV = "text/csv"


class Document(TeamOwned):
    """A text whose parts the team's agents can get. ``size`` counts bytes of UTF-8."""

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    title = models.CharField(max_length=200)
    media_type = models.CharField(
        max_length=20, choices=MediaType.choices, default=MediaType.MARKDOWN
    )
    text = models.TextField()
    size = models.PositiveIntegerField(editable=False)
    uploaded_by = models.CharField(max_length=200, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(media_type__in=MediaType.values),
                name="document_media_type_known",
            ),
        ]
        indexes = [models.Index(fields=["team", "-id"], name="document_team_newest")]

    def __str__(self) -> str:
        return self.title


class DocumentChunk(TeamOwned):
    """A piece of a document. The database computes ``search``, which weighs headings more."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="chunks")
    position = models.PositiveIntegerField()
    heading = models.CharField(max_length=500, blank=True)
    text = models.TextField()
    search = models.GeneratedField(
        expression=SearchVector("heading", weight="A", config="english")
        + SearchVector("text", weight="C", config="english"),
        output_field=SearchVectorField(),
        db_persist=True,
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "position"], name="chunk_once"),
        ]
        indexes = [GinIndex(fields=["search"], name="chunk_search")]

    def __str__(self) -> str:
        return f"{self.document_id} {self.position}"


class Wisdom(TeamOwned):
    """A note for those of the team's agents that use the provider ``wisdom``."""

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    text = models.TextField(max_length=NOTE)
    written_by = models.CharField(max_length=200, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "wisdom"
        indexes = [models.Index(fields=["team", "-id"], name="wisdom_team_newest")]

    def __str__(self) -> str:
        return self.text[:60]


class Profile(TeamOwned):
    """A person's text about themselves for this team's agents; deleted with the membership."""

    membership = models.OneToOneField(
        Membership, primary_key=True, on_delete=models.CASCADE, related_name="profile"
    )
    about = models.TextField(max_length=NOTE, blank=True)

    def __str__(self) -> str:
        return f"profile of {self.membership_id}"
