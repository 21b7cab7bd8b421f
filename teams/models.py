"""Team, Membership and ApiKey: who there is. AuditEntry: what they did."""

from typing import ClassVar

import uuid6
from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from rest_framework_api_key.models import AbstractAPIKey, BaseAPIKeyManager

from teams.tenancy import TeamOwned, TeamQuerySet


class Role(models.TextChoices):
    """A person's or key's part in a team, from most to least."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


class Team(models.Model):
    """The tenant."""

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    archived_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class Membership(TeamOwned):
    """A person's role in a team."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "user"], name="membership_once"),
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="membership_role_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}"


class ApiKeyManager(BaseAPIKeyManager.from_queryset(TeamQuerySet)):  # type: ignore[misc]
    """The library's ``create_key``, with the team scope of every other object."""

    def assign_key(self, obj: "ApiKey") -> str:
        """Give ``obj`` a new key and return its text, which is not stored."""
        key, obj.prefix, obj.hashed_key = self.key_generator.generate()
        return str(key)


class ApiKey(TeamOwned, AbstractAPIKey):
    """A machine's credential: shown once, kept as a hash, found by its first eight characters."""

    # The library's own primary key holds the hash, which would show in every address of the key.
    id = models.UUIDField(  # type: ignore[assignment]
        primary_key=True, default=uuid6.uuid7, editable=False
    )
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, editable=False
    )
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects: ClassVar[ApiKeyManager] = ApiKeyManager()

    class Meta(AbstractAPIKey.Meta):
        constraints = [
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="api_key_role_known"
            ),
        ]


class AuditEntry(TeamOwned):
    """One line of a team's audit log: ``teams.audit`` writes it, and nothing can change it.

    A trigger refuses every UPDATE, and every DELETE but that of a whole team
    (``teams.audit.erasing``). ``who`` is a label, so that a line outlives the person; ``details``
    is TEXT JSON; ``address`` is where the request came from, empty for commands and tasks.
    """

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    at = models.DateTimeField(db_default=Now(), editable=False)
    who = models.CharField(max_length=200)
    action = models.CharField(max_length=40)
    target = models.TextField(blank=True)
    details = models.TextField(default="{}")
    address = models.CharField(max_length=45, blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            # the log of a team, newest first, with and without a filter
            models.Index(fields=["team", "-id"], name="audit_team_newest"),
            models.Index(fields=["team", "action", "-id"], name="audit_team_action_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.who} {self.action} {self.target}"
