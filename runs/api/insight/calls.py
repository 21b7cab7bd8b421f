"""The tool calls of runs that have ended."""

from datetime import datetime
from typing import Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import generics, serializers

from agui_host.runtimes.models import Agent
from agui_host.teams.api.pages import FromReplica, NewestFirst
from agui_host.teams.authentication import principal_of
from runs.access.insight import calls
from runs.models import Called, ToolCall


class ToolCallFilter(django_filters.FilterSet):  # type: ignore[misc]
    """The query of the list."""

    name = django_filters.CharFilter()
    run = django_filters.UUIDFilter(field_name="run_id")
    agent = django_filters.CharFilter(method="of_agent")
    status = django_filters.ChoiceFilter(choices=Called.choices)
    double = django_filters.MultipleChoiceFilter(
        choices=Called.choices,
        method="of_doubles",
        help_text="Only calls made before with the same arguments for the same request, by the "
        "outcome of the calls before: `ok`, `none` (no result) or `error` (a retry).",
    )

    class Meta:
        model = ToolCall
        fields: list[str] = []

    def of_agent(self, rows: QuerySet[ToolCall], name: str, slug: str) -> QuerySet[ToolCall]:
        """By the agent's id, so that PostgreSQL begins with its newest calls."""
        principal = principal_of(self.request)
        agent = Agent.objects.for_team(principal.team).filter(slug=slug).only("pk").first()
        return rows.none() if agent is None else rows.filter(agent=agent.pk)

    def of_doubles(
        self, rows: QuerySet[ToolCall], name: str, kinds: list[str]
    ) -> QuerySet[ToolCall]:
        """The doubles of these kinds; all calls without any."""
        return calls.doubles(principal_of(self.request), rows, kinds) if kinds else rows


class EarlierSerializer(serializers.Serializer[Any]):
    """A call that a double repeats."""

    run = serializers.UUIDField(source="run_id")
    seq = serializers.IntegerField()
    status = serializers.ChoiceField(Called.choices)
    at = serializers.DateTimeField()


class ToolCallSerializer(serializers.ModelSerializer[ToolCall]):
    """A tool call, from the event ``seq`` of its run."""

    run = serializers.UUIDField(source="run_id")
    agent = serializers.CharField(source="agent.slug")
    status = serializers.ChoiceField(Called.choices, help_text="none: there is no result.")
    arguments = serializers.CharField(
        source="digest", help_text="Equal for calls with the same arguments."
    )
    took_ms = serializers.IntegerField(allow_null=True, help_text="Until its result came.")
    result = serializers.CharField(help_text="The first 200 characters.")
    double = serializers.SerializerMethodField()
    earlier = serializers.SerializerMethodField()

    class Meta:
        model = ToolCall
        fields = ["id", "name", "run", "agent", "seq", "status", "at", "took_ms", "arguments",
                  "result", "double", "earlier"]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(serializers.ChoiceField(Called.choices, allow_null=True))
    def get_double(self, row: ToolCall) -> str | None:
        """The outcome of the calls that this one repeats; null if it repeats none."""
        return row.double if self._earlier(row) else None

    @extend_schema_field(EarlierSerializer(many=True))
    def get_earlier(self, row: ToolCall) -> Any:
        """The calls that this one repeats, the newest first, as far as the caller sees them."""
        return EarlierSerializer(self._earlier(row), many=True).data

    def _earlier(self, row: ToolCall) -> list[ToolCall]:
        rows: list[ToolCall] = self.context.get("earlier", {}).get(row.pk, [])
        return rows if row.double else []


class NewestCalls(NewestFirst):
    """Pages of calls by their time."""

    ordering = "-at"
    position = datetime.fromisoformat


class ToolCallList(FromReplica, generics.ListAPIView[ToolCall]):
    """The tool calls of runs that have ended, newest first."""

    serializer_class = ToolCallSerializer
    pagination_class = NewestCalls
    filterset_class = ToolCallFilter
    queryset = ToolCall.objects.none()

    def get_queryset(self) -> QuerySet[ToolCall]:
        return calls.visible(principal_of(self.request))

    def paginate_queryset(self, queryset: Any) -> Any:
        """The page, with the earlier calls of its doubles."""
        page = super().paginate_queryset(queryset) or []
        self.earlier = calls.earlier(principal_of(self.request), page)
        return page

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "earlier": getattr(self, "earlier", {})}
