"""The agents resource: a team's agents, and the remote agents that it makes itself."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from agui_host.protocol.questions import rules
from agui_host.runtimes import registry, team_agents, team_options
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.models import (
    LONGEST_GRACE,
    LONGEST_PAUSE,
    MOST_ATTEMPTS,
    ON_BUSY,
    Agent,
    AgentVersion,
    OnBadState,
    OnCodeChange,
    Policy,
    RecoveryMode,
)
from agui_host.runtimes.options import MOST
from agui_host.teams.api.bodies import Body
from agui_host.teams.api.pages import NewestFirst
from agui_host.teams.authentication import principal_of
from agui_project.validators import QUEUE
from runs.access.agents import versions

SHOWN = ["id", "slug", "name", "description", "kind", "url", "settings", "headers",
         "on_behalf_of", "on_busy", "on_busy_chat", "policy", "raw", "timeout_seconds",
         "repeatable", "recovery", "declared_recovery", "recovery_attempts", "recovery_pause",
         "worker_grace", "on_code_change", "heals_history", "questions", "state_schema",
         "on_bad_state", "middleware", "context_providers", "queue", "is_tool", "is_default",
         "enabled", "version", "created_at"]  # fmt: skip

HIDDEN: dict[str, Any] = {
    "url": None, "settings": None, "headers": [], "middleware": [], "context_providers": [],
}  # fmt: skip
OPTIONS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}},
        "additionalProperties": True,
    },
}


class AgentSerializer(serializers.ModelSerializer[Agent]):
    """``headers`` are names: their values are never shown. ``url`` is null for other kinds."""

    url = serializers.SerializerMethodField()
    headers = serializers.SerializerMethodField()
    on_behalf_of = serializers.SerializerMethodField()
    settings = serializers.SerializerMethodField()
    middleware = serializers.SerializerMethodField()
    context_providers = serializers.SerializerMethodField()
    state_schema = serializers.SerializerMethodField()
    recovery = serializers.ChoiceField(
        RecoveryMode.choices,
        source="recovery_mode",
        read_only=True,
        help_text="Until a team chooses, as a remote agent declares; else end.",
    )
    declared_recovery = serializers.CharField(
        read_only=True, help_text="A remote agent's declaration with its last run; else empty."
    )

    class Meta:
        model = Agent
        fields = SHOWN
        read_only_fields = fields

    def to_representation(self, row: Agent) -> dict[str, Any]:
        """The agent; without its configuration for an end user, who is no member of the team."""
        content: dict[str, Any] = super().to_representation(row)
        request = self.context.get("request")
        is_hidden = request is not None and principal_of(request).end_user is not None
        return content | HIDDEN if is_hidden else content

    def get_url(self, row: Agent) -> str | None:
        """The URL of a remote agent; null for other kinds."""
        return row.target if kinds.of(row.kind).remote else None

    @extend_schema_field({"type": "array", "items": {"type": "string"}})
    def get_headers(self, row: Agent) -> list[str]:
        """The names of the headers that are sent; their values stay sealed."""
        return sorted(team_agents.secrets_of(row).get("headers", {}))

    def get_on_behalf_of(self, row: Agent) -> bool:
        """Whether it has a secret that signs the token of a run's end user."""
        return bool(team_agents.secrets_of(row).get("on_behalf_of"))

    @extend_schema_field({"type": "object", "nullable": True})
    def get_settings(self, row: Agent) -> Any:
        """The settings of a remote agent; null for other kinds."""
        # An operator may have put secrets into them that the team must not see.
        return row.settings if kinds.of(row.kind).remote else None

    @extend_schema_field(OPTIONS)
    def get_middleware(self, row: Agent) -> Any:
        """In order; only the names of the operator's own entries, and references to keys."""
        return team_options.visible(row, "middleware")

    @extend_schema_field(OPTIONS)
    def get_context_providers(self, row: Agent) -> Any:
        """In order; only the names of the operator's own entries."""
        return team_options.visible(row, "context_providers")

    @extend_schema_field({"type": "object", "nullable": True, "additionalProperties": True})
    def get_state_schema(self, row: Agent) -> Any:
        """The JSON Schema of its state: the team's, else that of its code; null without one."""
        return registry.state_schema_of(row)


class AgentFieldsSerializer(Body):
    """The settings of an agent that a team can change.

    ``url``, ``settings`` and ``headers`` are those of a remote agent.
    """

    name = serializers.CharField(max_length=120, required=False)
    description = serializers.CharField(max_length=10_000, allow_blank=True, required=False)
    url = serializers.CharField(max_length=500, required=False)
    settings = serializers.DictField(child=serializers.JSONField(), required=False)
    headers = serializers.DictField(
        child=serializers.CharField(allow_null=True, trim_whitespace=False),
        required=False,
        help_text="By name, such as Authorization; null removes one. Never shown again.",
    )
    on_behalf_of = serializers.CharField(
        max_length=team_agents.MAX_HEADER,
        allow_null=True,
        required=False,
        help_text="A secret of 32 characters or more: it signs the header AGUI-On-Behalf-Of, which "
        "names a run's end user. null removes it. Never shown again.",
    )
    on_busy = serializers.ChoiceField(ON_BUSY, required=False)
    on_busy_chat = serializers.ChoiceField(
        ON_BUSY, required=False, help_text="The same for a new message of a chat's own sender."
    )
    policy = serializers.ChoiceField(Policy.choices, required=False)
    raw = serializers.BooleanField(
        required=False, help_text="false: rawEvent and RAW of its events are not stored."
    )
    timeout_seconds = serializers.FloatField(
        min_value=0.1, max_value=team_agents.LONGEST, allow_null=True, required=False
    )
    repeatable = serializers.BooleanField(
        required=False, help_text="A run whose worker is lost or stopped is started again."
    )
    recovery = serializers.ChoiceField(
        RecoveryMode.choices,
        required=False,
        help_text="continue: another worker continues a run whose worker is lost or stopped.",
    )
    recovery_attempts = serializers.IntegerField(
        min_value=1,
        max_value=MOST_ATTEMPTS,
        required=False,
        help_text="A run that is continued may lose its worker so often, then it ends.",
    )
    recovery_pause = serializers.FloatField(
        min_value=0,
        max_value=LONGEST_PAUSE,
        required=False,
        help_text="Seconds before a run that has lost two workers continues; then twice as long.",
    )
    worker_grace = serializers.FloatField(
        min_value=0,
        max_value=LONGEST_GRACE,
        allow_null=True,
        required=False,
        help_text="Seconds that its runs have when their worker is stopped, at most "
        "AGUI_WORKER_GRACE. null: none if another worker continues them, else AGUI_WORKER_GRACE.",
    )
    on_code_change = serializers.ChoiceField(
        OnCodeChange.choices,
        required=False,
        help_text="A run whose agent's code has changed since its last effect continues or ends.",
    )
    heals_history = serializers.BooleanField(
        required=False,
        help_text="Calls and results in the thread are mended before the agent is given them.",
    )
    questions = serializers.ListField(
        child=serializers.ChoiceField(rules.RULES),
        max_length=len(rules.RULES),
        required=False,
        help_text="What counts as a question, in addition to interrupts.",
    )
    middleware = serializers.ListField(
        child=serializers.DictField(child=serializers.JSONField(allow_null=True)),
        max_length=MOST,
        required=False,
        help_text='What its events pass, in order: [{"name": "citations"}]; [] switches it off.',
    )
    context_providers = serializers.ListField(
        child=serializers.DictField(child=serializers.JSONField(allow_null=True)),
        max_length=MOST,
        required=False,
        help_text='What a run begins with, in order: [{"name": "wisdom"}]; [] switches it off.',
    )
    state_schema = serializers.DictField(
        child=serializers.JSONField(allow_null=True),
        allow_null=True,
        required=False,
        help_text="A JSON Schema of its state; null: the one of its code.",
    )
    on_bad_state = serializers.ChoiceField(
        OnBadState.choices,
        required=False,
        help_text="For a state that does not match the schema: ignore; note, a finding of the run; "
        "refuse, which also refuses a start with such a state.",
    )
    queue = serializers.RegexField(
        rf"^{QUEUE.pattern}\Z",
        required=False,
        help_text="Its runs are executed by the workers that serve this queue.",
    )
    is_tool = serializers.BooleanField(
        required=False, help_text="Clients of MCP may call it as a tool."
    )
    is_default = serializers.BooleanField(required=False)
    enabled = serializers.BooleanField(required=False)


class AgentChangeSerializer(AgentFieldsSerializer):
    """Changes to an agent; absent members stay as they are."""


class AgentNewSerializer(AgentFieldsSerializer):
    """A new agent."""

    slug = serializers.SlugField(max_length=64)
    kind = serializers.ChoiceField(
        team_agents.KINDS,
        default=team_agents.HTTP,
        help_text="http: remote, at ``url``. external: it runs elsewhere and is fed.",
    )


class AgentList(generics.ListAPIView[Agent]):
    """The team's agents."""

    serializer_class = AgentSerializer
    pagination_class = NewestFirst
    queryset = Agent.objects.none()

    def get_queryset(self) -> QuerySet[Agent]:
        return team_agents.visible(principal_of(self.request))

    @extend_schema(request=AgentNewSerializer, responses={201: AgentSerializer})
    def post(self, request: Request) -> Response:
        """Make a remote agent (kind ``http``), or one whose runs are fed (``external``)."""
        row = team_agents.create(principal_of(request), AgentNewSerializer.read(request))
        return Response(AgentSerializer(row).data, status=201)


class AgentDetail(generics.RetrieveAPIView[Agent]):
    """One agent of the team."""

    serializer_class = AgentSerializer
    queryset = Agent.objects.none()

    @extend_schema(responses={200: AgentSerializer})
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One agent."""
        row = team_agents.find(principal_of(request), kwargs["slug"])
        return Response(AgentSerializer(row, context={"request": request}).data)

    @extend_schema(request=AgentChangeSerializer, responses={200: AgentSerializer})
    def patch(self, request: Request, slug: str) -> Response:
        """Change an agent; fields that are left out stay."""
        team_agents.find(principal_of(request), slug)
        values = AgentChangeSerializer.read(request)
        return Response(
            AgentSerializer(team_agents.change(principal_of(request), slug, values)).data
        )

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, slug: str) -> Response:
        """Delete an agent of the team; one that has run is disabled and loses its secrets."""
        team_agents.remove(principal_of(request), slug)
        return Response(status=204)


class AgentVersionSerializer(serializers.ModelSerializer[AgentVersion]):
    """A version: a digest of the agent's code or target, settings, middleware and providers."""

    last_seen_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="When its newest run was requested."
    )
    is_present = serializers.SerializerMethodField()

    class Meta:
        model = AgentVersion
        fields = ["version", "is_present", "first_seen_at", "last_seen_at"]
        read_only_fields = fields

    def get_is_present(self, row: AgentVersion) -> bool:
        """Whether runs that start now have it."""
        return row.version == row.agent.version


class NewestVersions(NewestFirst):
    """Pages of versions, whose ids are numbers."""

    position = int


class AgentVersions(generics.ListAPIView[AgentVersion]):
    """The versions of an agent."""

    serializer_class = AgentVersionSerializer
    pagination_class = NewestVersions
    queryset = AgentVersion.objects.none()

    def get_queryset(self) -> QuerySet[AgentVersion]:
        """The newest first."""
        rows = versions.of(principal_of(self.request), self.kwargs["slug"])
        return rows.select_related("agent")
