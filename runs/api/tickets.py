"""Tickets for browsers, which cannot set headers on an EventSource or a WebSocket."""

from typing import Any
from urllib.parse import urlencode

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.errors import NotFound
from agui_host.teams.access import tickets
from agui_host.teams.api.bodies import Body
from agui_host.teams.authentication import Bound, principal_of
from runs.access import access


class AskTicketSerializer(Body):
    """Exactly one of the three."""

    run = serializers.UUIDField(required=False, help_text="The host's own id of a run.")
    thread_id = serializers.CharField(
        required=False, max_length=255, help_text="The client's name of a thread."
    )

    socket = serializers.BooleanField(required=False, help_text="true: for WS /ws/.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) != 1 or attrs.get("socket") is False:
            raise serializers.ValidationError("Send either run or thread_id, or socket: true.")
        return attrs


class TicketSerializer(serializers.Serializer[Any]):
    """The URLs of the run or of the socket, with the ticket; null where there is none."""

    ticket = serializers.CharField()
    opens_within = serializers.IntegerField(help_text="Seconds.")
    reopens_for = serializers.IntegerField(help_text="Seconds from the first use.")
    events_url = serializers.CharField(allow_null=True)
    websocket_url = serializers.CharField(allow_null=True)
    ag_ui_stream = serializers.CharField(allow_null=True, help_text="The run in Alpine's dialect.")


class TicketMint(APIView):
    """Makes tickets, for readers that cannot send headers."""

    @extend_schema(request=AskTicketSerializer, responses={201: TicketSerializer})
    def post(self, request: Request) -> Response:
        """A ticket for one stream of a run or of any one run of a thread, or for ``WS /ws/``."""
        principal = principal_of(request)
        values = AskTicketSerializer.read(request)
        events_url = websocket_url = ag_ui_stream = None
        if "socket" in values:
            bound = Bound()
        elif key := values.get("run"):
            bound = Bound(run=access.find(principal, key).pk)
        elif thread := access.find_thread(principal, values["thread_id"]):
            bound = Bound(thread=thread.pk)
        else:
            raise NotFound("There is no such thread.")
        text = tickets.mint(principal, bound)
        if bound.run:
            query = urlencode({"ticket": text})
            events_url = f"/api/v1/runs/{bound.run}/events?{query}"
            websocket_url = f"/ws/runs/{bound.run}/?{query}"
            ag_ui_stream = f"/runs/{bound.run}/events?{query}"
        elif not bound.thread:
            websocket_url = f"/ws/?{urlencode({'ticket': text})}"
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
