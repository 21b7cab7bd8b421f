"""The outline of a run: one row for each thing in it that has a beginning and an end."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from agui_host.protocol.fold.outline_kinds import KINDS
from agui_host.protocol.fold.outline_row import STATUSES
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.views.redaction import Redaction
from agui_host.teams.authentication import principal_of
from events import outlines
from events.outlines import Slice
from runs.access import access, sharing
from runs.access.inspect import effects
from runs.access.inspect import outlines as rows
from runs.api.comments import LinkAuthentication
from runs.models import Run


class RowSerializer(serializers.Serializer[Any]):
    """``seq0`` and ``seq1`` are the first and last event, ``t0`` and ``t1`` their milliseconds."""

    n = serializers.IntegerField(help_text="The number of the row; the first is 1.")
    kind = serializers.ChoiceField([*KINDS, effects.EFFECT])
    id = serializers.CharField(help_text="toolCallId, subagentRunId, messageId, stepName, …")
    parent = serializers.CharField(  # type: ignore[assignment]  # DRF has an attribute of that name
        allow_null=True, help_text="The message, tool call or subagent to which it belongs."
    )
    lane = serializers.ListField(
        child=serializers.CharField(), help_text="Its subagents, outermost first."
    )
    name = serializers.CharField()
    seq0 = serializers.IntegerField()
    seq1 = serializers.IntegerField(allow_null=True, help_text="null while it is open.")
    t0 = serializers.IntegerField(allow_null=True)
    t1 = serializers.IntegerField(allow_null=True)
    bytes = serializers.IntegerField(allow_null=True, help_text="The size of its events.")
    status = serializers.ChoiceField(STATUSES)
    result = serializers.IntegerField(
        allow_null=True, help_text="The seq of a tool call's TOOL_CALL_RESULT."
    )
    gist = serializers.CharField(help_text="The beginning of its text, at most 200 characters.")
    of_input = serializers.BooleanField(
        help_text="It changes the state, or an activity, of the input: links do not show it."
    )


class OutlineSerializer(serializers.Serializer[Any]):
    """``head`` is the newest event that the rows take into account, and ``cursor`` its id."""

    rows = RowSerializer(many=True)
    head = serializers.IntegerField()
    cursor = serializers.CharField()
    effects = RowSerializer(
        many=True,
        help_text="The effects of ctx.once, for people who manage agents; their n are negative.",
    )


class RunOutline(APIView):
    """The outline of a run."""

    @extend_schema(
        parameters=[
            OpenApiParameter("after", int, description="Rows after this ``n``; default 0."),
            OpenApiParameter(
                "since", str, description="Only rows that began or changed after this ``cursor``."
            ),
            OpenApiParameter("limit", int, description=f"At most {outlines.MOST_ROWS}."),
        ],
        responses={200: OutlineSerializer},
    )
    def get(self, request: Request, run_id: UUID) -> HttpResponse:
        """The messages, tool calls, steps, subagents and so on of a run, in order."""
        principal = principal_of(request)
        run = access.find(principal, run_id)
        part = rows.read(principal, run, request.query_params.dict())
        return answer(run, part, effects.rows(principal, run))


@extend_schema(exclude=True)
class SharedOutline(APIView):
    """The outline of a run for readers with a link."""

    authentication_classes = [LinkAuthentication]

    def get(self, request: Request, run_id: UUID, token: str) -> HttpResponse:
        """The outline of a shared run, without anything that its link hides."""
        principal = principal_of(request)
        run = access.find(principal, run_id)
        redaction = Redaction(sharing.grant_of(principal).redact)
        return answer(run, rows.read(principal, run, request.query_params.dict(), redaction))


def answer(run: Run, part: Slice, effects: Sequence[dict[str, Any]] = ()) -> HttpResponse:
    """The rows as they are stored: none is encoded again."""
    cursor, more = run.journal.written.at(part.head).name, dumps(list(effects))
    rows = ",".join(part.rows)
    body = f'{{"rows":[{rows}],"head":{part.head},"cursor":"{cursor}","effects":{more}}}'
    return HttpResponse(body, content_type="application/json")
