"""Grant: gives access to a thread or a run beyond the roles. ``sharing`` is the only writer."""

from collections.abc import Mapping

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from agui_host.backends.postgres import clock
from agui_host.teams.actors import LONGEST
from agui_host.teams.tenancy import TeamOwned


class Level(models.TextChoices):
    """The rights of a grant; each level includes the ones before it."""

    VIEW = "view"
    COMMENT = "comment"
    ANSWER = "answer"
    CONTROL = "control"


ACTIONS: Mapping[str, frozenset[str]] = {
    Level.VIEW: frozenset({"view"}),
    Level.COMMENT: frozenset({"view", "comment"}),
    Level.ANSWER: frozenset({"view", "comment", "answer"}),
    Level.CONTROL: frozenset({"view", "comment", "answer", "run", "cancel"}),
}
"""The actions of ``teams/permissions.py`` that a level allows on the shared thread or run."""


class Grant(TeamOwned):
    """Lets a person, another team or a link's visitors see one thread or one run of ``team``.

    A person has it as a member of the team ``through``, and no longer than that. ``creator`` is its
    maker's ``actor_id``, ``created_by`` the label. ``token_hash`` is the SHA-256 of a link's token,
    which is shown once. ``redact`` are dotted member names that a link's readers do not see
    (``agui_host/protocol/views/redaction.py``). ``noticed_at`` is when a worker has taken it to
    notify the receivers' browsers.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    thread = models.ForeignKey(
        "runs.Thread", on_delete=models.CASCADE, null=True, related_name="grants"
    )
    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, null=True, related_name="grants")
    to_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+"
    )
    to_team = models.ForeignKey("teams.Team", on_delete=models.CASCADE, null=True, related_name="+")
    token_hash = models.CharField(max_length=64, null=True, unique=True)  # noqa: DJ001
    level = models.CharField(max_length=10, choices=Level.choices, default=Level.VIEW)
    name = models.CharField(max_length=120, blank=True, default="")
    sign_in = models.BooleanField(default=False)
    redact = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    through = models.ForeignKey("teams.Team", on_delete=models.CASCADE, null=True, related_name="+")
    created_by = models.CharField(max_length=200)
    creator = models.CharField(max_length=LONGEST, blank=True, default="", db_default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.CharField(max_length=200, blank=True, default="")
    last_used_at = models.DateTimeField(null=True)
    noticed_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-id"]
        indexes = [
            # the news that workers look for (runs/access/notices/news.py)
            models.Index(
                fields=["created_at"],
                condition=Q(noticed_at=None, token_hash=None),
                name="grant_not_noticed",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(thread=None) ^ Q(run=None), name="grant_on_a_thread_or_a_run"
            ),
            models.CheckConstraint(
                condition=Q(to_user__isnull=False, to_team=None, token_hash=None)
                | Q(to_user=None, to_team__isnull=False, token_hash=None)
                | Q(to_user=None, to_team=None, token_hash__isnull=False),
                name="grant_to_a_person_a_team_or_a_link",
            ),
            models.CheckConstraint(
                condition=Q(to_user=None) | Q(through__isnull=False) | Q(revoked_at__isnull=False),
                name="grant_to_a_person_through_a_team",
            ),
            models.CheckConstraint(
                condition=Q(to_team=None) | ~Q(to_team=F("team")), name="grant_to_another_team"
            ),
            models.CheckConstraint(condition=Q(level__in=Level.values), name="grant_level_known"),
            # A link's visitors are strangers, so no level lets them change runs.
            models.CheckConstraint(
                condition=Q(token_hash=None) | Q(level__in=(Level.VIEW, Level.COMMENT)),
                name="grant_link_only_shows",
            ),
            models.CheckConstraint(
                condition=Q(token_hash__isnull=False) | Q(sign_in=False, redact=[]),
                name="grant_options_are_for_links",
            ),
            models.CheckConstraint(
                condition=Q(revoked_at=None, revoked_by="")
                | (Q(revoked_at__isnull=False) & ~Q(revoked_by="")),
                name="grant_revoked_by_somebody",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.level} for {self.kind}"

    @property
    def kind(self) -> str:
        """The receiver: ``link``, ``team`` or ``member``."""
        if self.token_hash is not None:
            return "link"
        return "member" if self.to_user_id is not None else "team"

    def is_live(self) -> bool:
        """Whether the grant still opens anything: neither revoked nor expired."""
        late = self.expires_at is not None and self.expires_at <= clock.now()
        return self.revoked_at is None and not late


def live() -> Q:
    """The rows for which ``Grant.is_live`` is true, by the database's clock."""
    return Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=Now()))
