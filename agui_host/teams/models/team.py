"""Team, Membership and ApiKey; AuditEntry, which records what people and keys did."""

from typing import ClassVar

import uuid6
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models.functions import Lower, Now
from rest_framework_api_key.crypto import KeyGenerator
from rest_framework_api_key.models import AbstractAPIKey, BaseAPIKeyManager

from agui_host.security.secrets import SealedField
from agui_host.teams.actors import LONGEST
from agui_host.teams.tenancy import TeamOwned, TeamQuerySet


class Role(models.TextChoices):
    """A person's or key's part in a team, from most to least."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


class Scope(models.TextChoices):
    """The permitted uses of a key, as far as its role allows them."""

    READ = "read"
    RUN = "run"
    INGEST = "ingest"
    ADMIN = "admin"
    SCIM = "scim"


def every_scope() -> list[str]:
    """The scopes of an unlimited key."""
    return list(Scope.values)


class Team(models.Model):
    """The tenant."""

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    archived_at = models.DateTimeField(null=True, blank=True)
    legal_hold = models.BooleanField(
        default=False,
        db_default=False,
        help_text="While set, nothing of this team is purged or erased.",
    )

    time_zone = models.CharField(
        max_length=64,
        default="UTC",
        db_default="UTC",
        help_text="The time zone of new schedules, such as Europe/Berlin.",
    )
    key_days = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="The longest lifetime of a new key, in days; empty: no limit.",
    )
    second_factor = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Members without a second factor cannot open this team.",
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(key_days=None) | models.Q(key_days__gte=1),
                name="team_key_days_positive",
            )
        ]

    def __str__(self) -> str:
        return self.name


class Origin(models.TextChoices):
    """Where a membership comes from: only its origin changes or ends it by itself."""

    PEOPLE = "people", "by people"
    SIGN_IN = "sign_in", "by sign-in service"
    SCIM = "scim", "by SCIM"


class Membership(TeamOwned):
    """A person's role in a team; ``last_seen_at`` is exact to five minutes."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    origin = models.CharField(
        max_length=10,
        choices=Origin.choices,
        default=Origin.PEOPLE,
        db_default=Origin.PEOPLE,
        editable=False,
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    last_seen_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "user"], name="membership_once"),
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="membership_role_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}"


SCANNABLE = "agui_"
"""The beginning of every key made here: secret scanners look for it."""


class ScannableKeys(KeyGenerator):
    """Keys like ``agui_<8 characters>.<32 characters>``; the eight find the row."""

    def generate(self) -> tuple[str, str, str]:
        """The text, the eight characters, the hash of the text."""
        prefix = self.get_prefix()
        text = f"{SCANNABLE}{prefix}.{self.get_secret_key()}"
        return text, prefix, self.hash(text)


class ApiKeyManager(BaseAPIKeyManager.from_queryset(TeamQuerySet)):  # type: ignore[misc]
    """The library's ``create_key``, with the team scope of every other object."""

    key_generator = ScannableKeys()

    def assign_key(self, obj: "ApiKey") -> str:
        """Give ``obj`` a new key and return its text, which is not stored."""
        key, obj.prefix, obj.hashed_key = self.key_generator.generate()
        return str(key)


class ApiKey(TeamOwned, AbstractAPIKey):
    """A machine's credential: shown once, stored as a hash, found by eight of its first characters.

    ``agents`` None: every agent. ``replaces`` is the key that it was rotated from, ``made_with``
    the key that created it: it never outlives that. ``created_by`` is the person who answers for
    it, and it works while they are an active member; None: the host's operator.

    ``end_user_secret`` signs the tokens of its end users; ``end_user_realm`` keeps them apart from
    those of other keys, and passes to its successors.
    """

    # The library's own primary key is the hash, which would show in every URL of the key.
    id = models.UUIDField(  # type: ignore[assignment]
        primary_key=True, default=uuid6.uuid7, editable=False
    )
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, editable=False
    )
    made_with = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, editable=False, related_name="minted"
    )
    scopes = ArrayField(models.CharField(max_length=10, choices=Scope.choices), default=every_scope)
    agents = ArrayField(
        models.CharField(max_length=64),
        null=True,
        blank=True,
        help_text="Slugs of the agents that this key may use; empty: all of them.",
    )
    replaces = models.OneToOneField(
        "self", on_delete=models.SET_NULL, null=True, editable=False, related_name="replaced_by"
    )
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_from = models.GenericIPAddressField(null=True, blank=True, editable=False)
    end_user_secret = SealedField(db_default="")
    end_user_realm = models.UUIDField(null=True, editable=False)

    objects: ClassVar[ApiKeyManager] = ApiKeyManager()

    class Meta(AbstractAPIKey.Meta):
        constraints = [
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="api_key_role_known"
            ),
            models.CheckConstraint(
                condition=models.Q(scopes__contained_by=Scope.values, scopes__len__gt=0),
                name="api_key_scopes_known",
            ),
            models.CheckConstraint(
                condition=models.Q(agents=None) | models.Q(agents__len__gt=0),
                name="api_key_agents_not_empty",
            ),
        ]


class OperatorKeyManager(BaseAPIKeyManager):
    """The library's ``create_key``, for keys that secret scanners find."""

    key_generator = ScannableKeys()

    def assign_key(self, obj: AbstractAPIKey) -> str:
        """Give ``obj`` a new key and return its text, which is not stored."""
        key, obj.prefix, obj.hashed_key = self.key_generator.generate()
        return str(key)


class OperatorKey(AbstractAPIKey):
    """A machine's credential for the whole host; only commands make and revoke it."""

    id = models.UUIDField(  # type: ignore[assignment]
        primary_key=True, default=uuid6.uuid7, editable=False
    )
    last_used_at = models.DateTimeField(null=True, editable=False)

    objects: ClassVar[OperatorKeyManager] = OperatorKeyManager()  # type: ignore[assignment]

    class Meta(AbstractAPIKey.Meta):
        abstract = False
        verbose_name = "operator key"
        verbose_name_plural = "operator keys"


class AuditEntry(TeamOwned):
    """One line of a team's audit log: only ``audit`` writes it, and nothing can change it.

    A trigger refuses every UPDATE, and every DELETE except of a whole team
    (``audit.erasing``). ``who`` is a label, so that a line outlives the person, and ``actor`` the
    id behind it (``actors``); ``details`` is TEXT JSON; ``address`` is where the request came from,
    empty for commands and tasks.
    """

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    at = models.DateTimeField(db_default=Now(), editable=False)
    who = models.CharField(max_length=200)
    actor = models.CharField(max_length=LONGEST, blank=True, default="", db_default="")
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


class TeamLimits(models.Model):
    """A team's own limits, set by operators: empty is the setting's value, 0 is no limit."""

    team = models.OneToOneField(
        Team, primary_key=True, on_delete=models.CASCADE, related_name="limits"
    )
    concurrent_runs = models.PositiveIntegerField(null=True, blank=True)
    queued_runs = models.PositiveIntegerField(null=True, blank=True)
    runs_per_minute = models.PositiveIntegerField(null=True, blank=True)
    events_per_second = models.PositiveIntegerField(null=True, blank=True)
    event_bytes = models.PositiveIntegerField(null=True, blank=True)
    run_seconds = models.PositiveIntegerField(null=True, blank=True)
    open_streams = models.PositiveIntegerField(null=True, blank=True)
    stored_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    retention_days = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "team limits"

    def __str__(self) -> str:
        return f"limits of {self.team}"


class Invitation(TeamOwned):
    """Invites the owner of an address to join; its link is mailed once and stored as a hash.

    Open until it is accepted, revoked or expired. ``invited_by`` is a principal's label,
    ``inviter`` its ``actor_id``.
    """

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    email = models.EmailField()
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    invited_by = models.CharField(max_length=200, editable=False)
    inviter = models.CharField(
        max_length=LONGEST, blank=True, default="", db_default="", editable=False
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, editable=False)
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, editable=False
    )
    revoked_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "email"],
                condition=models.Q(accepted_at=None, revoked_at=None),
                name="invitation_once",
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="invitation_role_known"
            ),
            models.CheckConstraint(
                condition=models.Q(accepted_at=None) | models.Q(revoked_at=None),
                name="invitation_one_end",
            ),
            models.CheckConstraint(
                condition=models.Q(email=Lower("email")), name="invitation_email_lower"
            ),
        ]
        indexes = [
            # for the cool-down and the host's daily limit
            models.Index(fields=["email", "-created_at"], name="invitation_newest_of_email"),
            models.Index(fields=["created_at"], name="invitation_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.email} to {self.team}"


class StreamTicket(TeamOwned):
    """A browser's pass to one stream, since it cannot send a credential in a header there.

    ``run`` or ``thread`` is its purpose; neither: a socket for everything. ``user`` (with the
    browser's ``session_key``, if one asked) or ``api_key`` is its credential. ``end_user`` is
    ``EndUser`` as JSON if the key acted for one.
    ``opened_run`` is the run whose stream it has opened, at ``opened_at``; null if it opened a
    socket for everything.
    """

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    run = models.UUIDField(null=True)
    thread = models.UUIDField(null=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+"
    )
    session_key = models.CharField(max_length=40, blank=True)
    api_key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, null=True, related_name="+")
    end_user = models.TextField(default="", db_default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    opened_at = models.DateTimeField(null=True)
    opened_run = models.UUIDField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(run=None) | models.Q(thread=None),
                name="ticket_for_one_thing_at_most",
            ),
            models.CheckConstraint(
                condition=models.Q(user=None) ^ models.Q(api_key=None), name="ticket_of_somebody"
            ),
            models.CheckConstraint(
                condition=models.Q(opened_run=None) | models.Q(opened_at__isnull=False),
                name="ticket_opened_before_its_run",
            ),
        ]
        indexes = [models.Index(fields=["created_at"], name="ticket_oldest")]
