"""The audit log: pages of it, and all of it as a file."""

import json
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any

import django_filters
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import generics, serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from agui_host.backends.postgres.bridge import db_history
from agui_host.protocol.strict_json import dumps
from agui_host.teams import audit
from agui_host.teams.api import csv_cells
from agui_host.teams.api.datetimes import MomentFilter
from agui_host.teams.api.pages import FromReplica, NewestFirst
from agui_host.teams.authentication import Principal, principal_of
from agui_host.teams.models import AuditEntry

PAGE = 1_000
Encode = Callable[[list[AuditEntry], bool], str]
FIELDS = ["id", "at", "who", "action", "target", "details", "address", "actor"]


class AuditSerializer(serializers.ModelSerializer[AuditEntry]):
    """A line of the audit log."""

    details = serializers.SerializerMethodField()

    class Meta:
        model = AuditEntry
        fields = FIELDS
        read_only_fields = fields

    @extend_schema_field({"type": "object"})
    def get_details(self, line: AuditEntry) -> Any:
        """More about the act, by its kind."""
        return json.loads(line.details)


class AuditFilter(django_filters.FilterSet):  # type: ignore[misc]
    """The query of the audit log."""

    action = django_filters.CharFilter()
    who = django_filters.CharFilter()
    target = django_filters.CharFilter()
    since = MomentFilter(field_name="at", lookup_expr="gte")
    until = MomentFilter(field_name="at", lookup_expr="lt")

    class Meta:
        model = AuditEntry
        fields: list[str] = []


class AuditList(FromReplica, generics.ListAPIView[AuditEntry]):
    """The team's log, newest first."""

    serializer_class = AuditSerializer
    pagination_class = NewestFirst
    filterset_class = AuditFilter
    queryset = AuditEntry.objects.none()

    def get_queryset(self) -> QuerySet[AuditEntry]:
        return lines_of(principal_of(self.request))


class AuditExport(generics.GenericAPIView[AuditEntry]):
    """The whole log, or the part that passes the list's filters, oldest first."""

    filterset_class = AuditFilter
    queryset = AuditEntry.objects.none()

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """The URL names the format; errors are JSON as everywhere."""
        return JSONRenderer(), JSONRenderer.media_type

    def export(self, request: Request, form: str, encode: Encode) -> StreamingHttpResponse:
        """The answer; the export itself is recorded in the log."""
        principal = principal_of(request)
        chosen = self.filter_queryset(lines_of(principal))
        query = request.query_params.dict()
        audit.record(principal, principal.team, "audit.exported", form, filters=query)
        body = _pages(chosen.order_by("id"), encode)
        answer = StreamingHttpResponse(body, content_type=f"text/{form}; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="audit.{form}"'
        return answer


class AuditCsv(AuditExport):
    """The audit log as CSV."""

    @extend_schema(filters=True, responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request) -> StreamingHttpResponse:
        """As CSV, with a line of names first."""
        return self.export(request, "csv", as_csv)


class AuditNdjson(AuditExport):
    """The audit log as lines of JSON."""

    @extend_schema(filters=True, responses={(200, "text/ndjson"): OpenApiTypes.STR})
    def get(self, request: Request) -> StreamingHttpResponse:
        """As one JSON object per line."""
        return self.export(request, "ndjson", as_ndjson)


def lines_of(principal: Principal) -> QuerySet[AuditEntry]:
    """The lines that the principal sees. Raises Forbidden."""
    principal.require("see_audit")
    return AuditEntry.objects.for_team(principal.team)


async def _pages(lines: QuerySet[AuditEntry], encode: Encode) -> AsyncIterator[str]:
    """Page by page, in a thread of the pool; a slow reader occupies none."""
    last = None
    for number in count():
        rest = lines if last is None else lines.filter(id__gt=last)
        page: list[AuditEntry] = await db_history(list, rest[:PAGE])
        yield encode(page, number == 0)
        if len(page) < PAGE:
            return
        last = page[-1].pk


def as_csv(page: list[AuditEntry], first: bool) -> str:
    """A page of lines. A cell that a spreadsheet would take for a formula gets an apostrophe."""
    head = [FIELDS] if first else []
    return csv_cells.lines(
        [*head, *([str(getattr(line, name)) for name in FIELDS] for line in page)]
    )


def as_ndjson(page: list[AuditEntry], first: bool) -> str:
    """A page of lines, each as the list shows it."""
    return "".join(f"{dumps(_plain(line))}\n" for line in page)


def _plain(line: AuditEntry) -> dict[str, Any]:
    return {**AuditSerializer(line).data, "id": str(line.pk)}
