"""The state of a run at one of its events, and which events set a place in it."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.teams.authentication import principal_of
from runs.access import access
from runs.access.inspect import states

AT = OpenApiParameter(
    "at", str, description="After this event, by its id or ``seq``; default the newest."
)


class StateSerializer(serializers.Serializer[Any]):
    """``at`` is less than was asked for if the log is too long for one request: ask again."""

    state = serializers.JSONField()
    at = serializers.IntegerField()


class ChangeSerializer(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    op = serializers.CharField(help_text="``snapshot``, or the operation of a patch.")
    path = serializers.CharField(help_text="Where it took place, as a JSON Pointer.")
    timestamp = serializers.IntegerField(allow_null=True)


class StateHistorySerializer(serializers.Serializer[Any]):
    """``through`` is the last event that was searched: continue with it as ``after``."""

    changes = ChangeSerializer(many=True)
    through = serializers.IntegerField()


class RunState(APIView):
    @extend_schema(parameters=[AT], responses={200: StateSerializer})
    def get(self, request: Request, run_id: UUID) -> HttpResponse:
        """The state of a run after one of its events."""
        principal = principal_of(request)
        run = access.find(principal, run_id)
        result = states.read(principal, run, request.query_params.dict())
        body = f'{{"state":{result.state},"at":{result.at}}}'
        return HttpResponse(body, content_type="application/json")


class RunStateHistory(APIView):
    @extend_schema(
        parameters=[
            OpenApiParameter("path", str, description="A JSON Pointer; default the whole state."),
            OpenApiParameter("after", str, description="Only events after this one."),
            OpenApiParameter("at", str, description="Only events up to this one."),
        ],
        responses={200: StateHistorySerializer},
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        """The events that set the value at one place in the state, oldest first."""
        principal = principal_of(request)
        run = access.find(principal, run_id)
        changes, through = states.history(principal, run, request.query_params.dict())
        rows = [change._asdict() for change in changes]
        return Response({"changes": rows, "through": through})
