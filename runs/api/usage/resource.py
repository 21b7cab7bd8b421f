"""The usage resource: runs, tokens and cost by agent, person and day, as JSON or CSV."""

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.backends.postgres.servers.replica import reading
from agui_host.protocol.errors import Invalid
from agui_host.teams.api import csv_cells
from agui_host.teams.api.datetimes import MomentField
from agui_host.teams.api.queries import refuse_unknown
from agui_host.teams.api.renderers import QuickJSONRenderer
from agui_host.teams.authentication import principal_of
from runs.access.usage import figures
from runs.access.usage.figures import Period

MOST = 10_000
"""Rows of one answer."""
QUERY = ("by", "since", "until", "format")
FORMATS = ("json", "csv")
BY = ("agent", "person", "day")


class BadGrouping(Invalid):
    """Write by=agent, by=person, by=day, or several of them with commas between."""

    code = "invalid_by"


class UsageRowSerializer(serializers.Serializer[dict[str, Any]]):
    """The usage of an agent, a person or key, on a day; null for what ``by`` does not name.

    A run counts on the day (UTC) on which it was requested, with its tokens and cost
    when it ended, however it ended.
    """

    agent = serializers.CharField(allow_null=True, help_text="The agent's slug.")
    person = serializers.CharField(
        allow_null=True, help_text="Who started the runs, as in `started_by` of runs."
    )
    day = serializers.DateField(allow_null=True)
    runs = serializers.IntegerField(help_text="Also runs that have not ended.")
    succeeded = serializers.IntegerField()
    interrupted = serializers.IntegerField(help_text="Ended with a question.")
    cancelled = serializers.IntegerField()
    failed = serializers.IntegerField()
    tokens_in = serializers.IntegerField()
    tokens_out = serializers.IntegerField()
    tokens_cached = serializers.IntegerField(help_text="These are among `tokens_in`.")
    cost = serializers.FloatField(help_text="In US dollars.")
    questions = serializers.IntegerField()
    queued_ms = serializers.IntegerField(help_text="The sum of the runs' waits for a worker.")


@extend_schema_serializer(component_name="TeamUsage", many=False)
class UsageSerializer(serializers.Serializer[dict[str, Any]]):
    """Rows, the newest day and the highest cost first."""

    since = serializers.DateTimeField(help_text="The beginning of its hour.")
    until = serializers.DateTimeField(help_text="The end of its hour.")
    more = serializers.BooleanField(help_text="There are more rows: ask for fewer days.")
    results = UsageRowSerializer(many=True)


class TeamUsage(APIView):
    """The usage of the caller's team."""

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """``format`` is read by the view; errors are JSON as everywhere."""
        return QuickJSONRenderer(), QuickJSONRenderer.media_type

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "by",
                str,
                required=True,
                description="`agent`, `person`, `day`, or several: `agent,day`.",
            ),
            OpenApiParameter(
                "since", OpenApiTypes.DATETIME, description="Default: 30 days, with today."
            ),
            OpenApiParameter("until", OpenApiTypes.DATETIME, description="Default: today's end."),
            OpenApiParameter("format", str, enum=FORMATS),
        ],
        responses={
            200: UsageSerializer,
            (200, "text/csv"): OpenApiTypes.STR,
        },
    )
    def get(self, request: Request) -> Response | HttpResponse:
        """Runs, tokens and cost by agent, person and day, exact at the moment of the answer."""
        refuse_unknown(request, QUERY)
        query = request.query_params
        names = _names(query.get("by", ""))
        form = query.get("format", FORMATS[0])
        if form not in FORMATS:
            raise Invalid("The format is json or csv.", details={"path": "format"})
        period = Period.of(
            _moment(query.get("since"), "since"), _moment(query.get("until"), "until")
        )
        sums = _read(request, names, period)
        rows = [dict.fromkeys(BY) | row for row in sums[:MOST]]
        if form == "csv":
            return csv_cells.as_file("usage", figures.table(names, rows))
        # The rows are as UsageSerializer describes them, which would take half of the time.
        for row in rows:
            row["day"] = row["day"] and row["day"].isoformat()
        return Response(
            {
                "since": period.since,
                "until": period.until,
                "more": len(sums) > MOST,
                "results": rows,
            }
        )


@reading
def _read(request: Request, names: set[str], period: Period) -> list[dict[str, Any]]:
    return figures.read(principal_of(request), figures.by(names), period, most=MOST + 1)


def _names(text: str) -> set[str]:
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= set(BY) or len(set(names)) != len(names):
        raise BadGrouping(details={"path": "by"})
    return set(names)


def _moment(text: str | None, name: str) -> datetime | None:
    try:
        moment: datetime | None = MomentField(required=False).clean(text)
    except ValidationError as error:
        raise Invalid(f"{name}: {error.messages[0]}", details={"path": name}) from None
    if moment is not None and not 2000 <= moment.year < 2100:
        raise Invalid(f"{name}: write a year from 2000 to 2099.", details={"path": name})
    return moment
