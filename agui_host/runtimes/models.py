"""Agent: one team's configured agent."""

import json
from collections.abc import Mapping
from typing import Any

import uuid6
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models.functions import Now

from agui_host.protocol.input.run_agent_input import OnBusy
from agui_host.protocol.questions import rules
from agui_host.runtimes.columns import (
    LONGEST_GRACE,
    LONGEST_PAUSE,
    MOST_ATTEMPTS,
    OnBadState,
    OnCodeChange,
    Policy,
    RecoveryMode,
    check_context_providers,
    check_middleware,
    check_questions,
    default_rules,
)
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.kinds.kind import BadSettings
from agui_host.runtimes.knowledge.models import Document, DocumentChunk, MediaType, Profile, Wisdom
from agui_host.runtimes.middleware import keys
from agui_host.runtimes.versions import digests
from agui_host.security.secrets import SealedField, SecretUnreadable, seal, unseal
from agui_host.teams.tenancy import TeamOwned
from agui_project.validators import QUEUE

__all__ = [
    "DEFAULT_QUEUE", "LONGEST_GRACE", "LONGEST_PAUSE", "MOST_ATTEMPTS", "Agent", "AgentVersion",
    "Document", "DocumentChunk", "FileDirectory", "MediaType", "OnBadState", "OnCodeChange",
    "Policy", "Profile", "RecoveryMode", "Wisdom",
    "check_context_providers", "check_middleware", "check_questions", "default_rules",
]  # fmt: skip


DEFAULT_QUEUE = "default"
ON_BUSY = [(each.value, each.name.replace("_", " ").title()) for each in OnBusy]


class Agent(TeamOwned):
    """A team's agent: its name, the runtime that runs it, and its rules."""

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    slug = models.SlugField(max_length=64)
    name = models.CharField(max_length=120)
    description = models.TextField(blank=True)
    kind = models.CharField(max_length=20, default="python", help_text="The kind of agent.")
    target = models.CharField(
        max_length=500,
        blank=True,
        help_text="What is run: a registered agent's slug, an address or a command.",
    )
    settings = models.JSONField(default=dict, blank=True)
    middleware = models.JSONField(
        default=list,
        blank=True,
        validators=[check_middleware],
        help_text='Middleware that its events pass, in order: [{"name": "log"}, …].',
    )
    context_providers = models.JSONField(
        default=list,
        blank=True,
        validators=[check_context_providers],
        help_text='What a run begins with, in order: [{"name": "wisdom"}, …].',
    )
    secrets = SealedField(
        help_text="Stored sealed and never shown: JSON with the headers of a remote agent."
    )
    on_busy = models.CharField(max_length=20, choices=ON_BUSY, default=OnBusy.REJECT.value)
    on_busy_chat = models.CharField(
        max_length=20,
        choices=ON_BUSY,
        default=OnBusy.CANCEL_RUNNING.value,
        db_default=OnBusy.CANCEL_RUNNING.value,
        help_text="The same for a chat's new message, while the runs of its sender have not ended.",
    )
    on_bad_state = models.CharField(
        max_length=6,
        choices=OnBadState.choices,
        default=OnBadState.IGNORE,
        db_default=OnBadState.IGNORE.value,
        help_text="When a state does not match the schema: nothing, a finding, or also a refusal.",
    )
    state_schema = models.JSONField(
        null=True,
        blank=True,
        help_text="A JSON Schema of the state; empty: the one of the agent's code.",
    )
    policy = models.CharField(
        max_length=6,
        choices=Policy.choices,
        default=Policy.REPAIR,
        help_text="When an event breaks a rule of AG-UI: repair it if possible, or fail the run.",
    )
    raw = models.BooleanField(
        default=True,
        db_default=True,
        help_text="Store what a framework reports besides its answer: rawEvent, and RAW events.",
    )
    timeout_seconds = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0.1)],
        help_text="Empty: the host's setting applies.",
    )
    repeatable = models.BooleanField(
        default=False,
        db_default=False,
        help_text="A run whose worker is lost or stopped may be started again from its beginning.",
    )
    recovery = models.CharField(
        max_length=8,
        blank=True,
        choices=RecoveryMode.choices,
        default="",
        db_default="",
        help_text="A run whose worker is lost or stopped ends, or another worker continues it. "
        "Empty: as a remote agent declares; other agents' runs end.",
    )
    declared_recovery = models.CharField(
        max_length=8,
        blank=True,
        default="",
        db_default="",
        editable=False,
        choices=RecoveryMode.choices,
        help_text="A remote agent's declaration with its last run.",
    )
    recovery_attempts = models.PositiveSmallIntegerField(
        default=5,
        db_default=5,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_ATTEMPTS)],
        help_text="A run that is continued may lose its worker so often, then it ends.",
    )
    recovery_pause = models.FloatField(
        default=1.0,
        db_default=1.0,
        validators=[MinValueValidator(0), MaxValueValidator(LONGEST_PAUSE)],
        help_text="Seconds before a run that has lost two workers continues; then twice as long.",
    )
    worker_grace = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0), MaxValueValidator(LONGEST_GRACE)],
        help_text="Seconds that its runs have when their worker is stopped, at most those of the "
        "host's setting. Empty: none if another worker continues them, else the host's setting.",
    )
    on_code_change = models.CharField(
        max_length=8,
        choices=OnCodeChange.choices,
        default=OnCodeChange.CONTINUE,
        db_default=OnCodeChange.CONTINUE.value,
        help_text="A run whose agent's code has changed since its last effect continues or ends.",
    )
    heals_history = models.BooleanField(
        default=True,
        db_default=True,
        help_text="Calls and results in the thread are mended before the agent is given them.",
    )
    questions = models.JSONField(
        default=default_rules,
        db_default=list(rules.DEFAULT),
        blank=True,
        validators=[check_questions],
        help_text="What counts as a question, in addition to interrupts: on_interrupt, adk, agno.",
    )
    queue = models.CharField(
        max_length=32,
        default=DEFAULT_QUEUE,
        db_default=DEFAULT_QUEUE,
        validators=[RegexValidator(rf"^{QUEUE.pattern}\Z")],
        help_text="Which workers execute its runs: those that serve this queue.",
    )
    is_tool = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Clients of MCP may call it as a tool.",
    )
    is_default = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    provided = models.JSONField(null=True, editable=False)
    """The name, description and queue that the host's code last gave it; null for others."""
    withdrawn = models.BooleanField(default=False, db_default=False, editable=False)
    """Disabled by the host because its code is gone, not by a person."""
    code = models.CharField(max_length=16, default="", db_default="", editable=False)
    """The digest of its module, by the process that last brought its code (``versions``)."""
    version = models.CharField(max_length=16, default="", db_default="", editable=False)
    """The digest of its code, target and settings; "" until a host of this release has saved it."""
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.UniqueConstraint(fields=["team", "slug"], name="agent_slug_once_per_team"),
            models.UniqueConstraint(
                fields=["team"], condition=models.Q(is_default=True), name="agent_one_default"
            ),
            models.CheckConstraint(
                condition=models.Q(on_busy__in=[value for value, _ in ON_BUSY]),
                name="agent_on_busy_known",
            ),
            models.CheckConstraint(
                condition=models.Q(on_busy_chat__in=[value for value, _ in ON_BUSY]),
                name="agent_on_busy_chat_known",
            ),
            models.CheckConstraint(
                condition=models.Q(queue__regex=f"^{QUEUE.pattern}$"), name="agent_queue_named"
            ),
            models.CheckConstraint(
                condition=models.Q(policy__in=Policy.values), name="agent_policy_known"
            ),
            models.CheckConstraint(
                condition=models.Q(on_bad_state__in=OnBadState.values),
                name="agent_on_bad_state_known",
            ),
            models.CheckConstraint(
                condition=models.Q(recovery__in=["", *RecoveryMode.values]),
                name="agent_recovery_known",
            ),
            models.CheckConstraint(
                condition=models.Q(on_code_change__in=OnCodeChange.values),
                name="agent_on_code_change_known",
            ),
            models.CheckConstraint(
                condition=models.Q(timeout_seconds=None) | models.Q(timeout_seconds__gt=0),
                name="agent_timeout_positive",
            ),
            models.CheckConstraint(
                condition=models.Q(worker_grace=None)
                | models.Q(worker_grace__gte=0, worker_grace__lte=LONGEST_GRACE),
                name="agent_worker_grace_bounded",
            ),
        ]

    def __str__(self) -> str:
        return self.slug

    def clean(self) -> None:
        """Check the settings by the rules of the kind, and that this host can run the agent.

        Raises ValidationError.
        """
        self._check_settings()
        try:
            kinds.of(self.kind).check_host(self.settings)
        except BadSettings as bad:
            raise ValidationError({"settings": str(bad)}, code="settings") from None

    def _check_settings(self) -> None:
        try:
            kinds.of(self.kind).check_settings(self.settings)
        except BadSettings as bad:
            raise ValidationError({"settings": str(bad)}, code="settings") from None

    @property
    def is_fed(self) -> bool:
        """Whether it runs elsewhere, and its producer feeds its runs."""
        return self.kind in kinds.FED

    @property
    def continues(self) -> bool:
        """Whether another worker continues its runs: a remote agent can refuse its team's wish."""
        may = self.recovery_mode == RecoveryMode.CONTINUE and kinds.of(self.kind).continues
        return may and self.declared_recovery != RecoveryMode.END

    @property
    def recovery_mode(self) -> str:
        """The team's choice, else the remote agent's declaration."""
        return self.recovery or self.declared_recovery or RecoveryMode.END

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save; raises ValidationError for an agent that cannot run, also outside of forms."""
        check_middleware(self.middleware)
        check_context_providers(self.context_providers)
        self._check_settings()
        self._put_keys_away()
        self.version = self.present_version()
        if fields := set(kwargs.get("update_fields") or ()):
            if fields & {*keys.SECTIONS}:
                fields.add("secrets")
            kwargs["update_fields"] = fields | {"version"}
        super().save(*args, **kwargs)

    def present_version(self) -> str:
        """The version by its values: not its name, its headers, or the rules of its runs."""
        return digests.of_parts(
            self.kind, self.target, self.code, self.settings, self.middleware,
            self.context_providers,
        )  # fmt: skip

    def unsealed(self) -> dict[str, Any]:
        """The secrets by section, ``{"headers": {name: value}}``; raises SecretUnreadable."""
        secrets_by_section: dict[str, Any] = (
            json.loads(unseal(self.secrets)) if self.secrets else {}
        )
        return secrets_by_section

    def seal(self, values: Mapping[str, Any]) -> None:
        """Replace these sections of the secrets; the caller saves the row."""
        try:
            before = self.unsealed()
        except SecretUnreadable:
            # The old ones can no longer be read; storing new ones must not fail for it.
            before = {}
        sections = {section: value for section, value in {**before, **values}.items() if value}
        self.secrets = seal(json.dumps(sections)) if sections else ""

    def chain(self) -> list[Any]:
        """The middleware as a run needs it: with its keys. Raises SecretUnreadable."""
        if not keys.mentioned(self.middleware):
            return list(self.middleware)
        return keys.taken_out(self.middleware, self.unsealed().get("middleware", {}))

    def providers(self) -> list[Any]:
        """The context providers with their keys; one whose key is unreadable gets None."""
        if not keys.mentioned(self.context_providers):
            return list(self.context_providers)
        return keys.taken_out(self.context_providers, self.keys_of("context_providers"))

    def keys_of(self, field: str) -> dict[str, str]:
        """The keys by name in one of the lists (``keys.SECTIONS``); none if unreadable."""
        try:
            known: dict[str, str] = self.unsealed().get(field, {})
        except SecretUnreadable:
            return {}
        return known

    def _put_keys_away(self) -> None:
        for field in keys.SECTIONS:
            entries = getattr(self, field)
            if not (self.secrets or keys.mentioned(entries)):
                continue
            known = self.keys_of(field)
            stored, used = keys.put_away(entries, known)
            setattr(self, field, stored)
            if used != known:
                self.seal({field: used})


class AgentVersion(TeamOwned):
    """A version that an agent has, or has had; a trigger is the only writer (``versions.sql``)."""

    agent = models.ForeignKey(
        Agent, on_delete=models.CASCADE, related_name="versions", db_index=False
    )
    version = models.CharField(max_length=16)
    first_seen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "version"], name="agent_version_once")
        ]
        indexes = [
            # an agent's versions, the newest first, and the agents that a version is of
            models.Index(fields=["agent", "-id"], name="agent_version_newest"),
            models.Index(fields=["team", "version"], name="agent_version_of_team"),
        ]

    def __str__(self) -> str:
        return self.version


FILES = "files"


class FileDirectory(models.Model):
    """The one directory that keeps the files of this database (``file_directory.py``)."""

    id = models.CharField(primary_key=True, max_length=8, default=FILES, editable=False)
    mark = models.UUIDField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=FILES), name="file_directory_once"),
        ]

    def __str__(self) -> str:
        return str(self.mark)
