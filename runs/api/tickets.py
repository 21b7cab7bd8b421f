"""Tickets for browsers, which cannot set headers on an EventSource or a WebSocket."""

from typing import Any
from urllib.parse import urlencode

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_project.errors import NotFound
from runs.access import access
from teams.access import tickets
from teams.authentication import Bound, principal_of


class AskTicketSerializer(serializers.Serializer[Any]):
    """Exactly one of the two."""

    run = serializers.UUIDField(required=False, help_text="The host's own id of a run.")
    thread_id = serializers.CharField(
        required=False, max_length=255, help_text="The client's name of a thread."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) != 1:
            raise serializers.ValidationError("Send either run or thread_id.")
        return attrs


class TicketSerializer(serializers.Serializer[Any]):
    """The URLs of the run, with the ticket; null for a thread's ticket."""

    ticket = serializers.CharField()
    opens_within = serializers.IntegerField(help_text="Seconds.")
    reopens_for = serializers.IntegerField(help_text="Seconds from the first use.")
    events_url = serializers.CharField(allow_null=True)
    websocket_url = serializers.CharField(allow_null=True)
    ag_ui_stream = serializers.CharField(allow_null=True, help_text="The run in Alpine's dialect.")


class TicketMint(APIView):
    @extend_schema(request=AskTicketSerializer, responses={201: TicketSerializer})
    def post(self, request: Request) -> Response:
        """A ticket for one stream of a run, or of any one run of a thread: ``?ticket=``."""
        principal = principal_of(request)
        serializer = AskTicketSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        events_url = websocket_url = ag_ui_stream = None
        if key := serializer.validated_data.get("run"):
            bound = Bound(run=access.find(principal, key).pk)
        elif thread := access.find_thread(principal, serializer.validated_data["thread_id"]):
            bound = Bound(thread=thread.pk)
        else:
            raise NotFound("There is no such thread.")
        text = tickets.mint(principal, bound)
        if bound.run:
            query = urlencode({"ticket": text})
            events_url = f"/api/v1/runs/{bound.run}/events?{query}"
            websocket_url = f"/ws/runs/{bound.run}/?{query}"
            ag_ui_stream = f"/runs/{bound.run}/events?{query}"
        ticket_fields = TicketSerializer(
            {
                "ticket": text,
                "opens_within": int(tickets.OPENS_WITHIN.total_seconds()),
                "reopens_for": int(tickets.REOPENS_FOR.total_seconds()),
                "events_url": events_url,
                "websocket_url": websocket_url,
                "ag_ui_stream": ag_ui_stream,
            }
        )
        return Response(ticket_fields.data, status=201)
