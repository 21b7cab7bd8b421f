"""The caller's sessions."""

from typing import Any

from allauth.usersessions.models import UserSession
from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.teams.accounts import sessions
from agui_host.teams.authentication import principal_of


class SessionSerializer(serializers.ModelSerializer[UserSession]):
    """A signed-in browser; ``current`` is the session of this request."""

    current = serializers.SerializerMethodField()
    address = serializers.CharField(source="ip", read_only=True)
    signed_in_at = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = UserSession
        fields = ["id", "address", "user_agent", "signed_in_at", "current"]
        read_only_fields = ["id", "user_agent"]

    def get_current(self, row: UserSession) -> bool:
        """Whether this request came from that browser."""
        return bool(row.session_key == self.context["session_key"])


@extend_schema_serializer(component_name="SessionList")
class SessionsSerializer(serializers.Serializer[Any]):
    """Where a person is signed in."""

    sessions = SessionSerializer(many=True)


class SessionList(APIView):
    """The caller's sessions."""

    @extend_schema(responses={200: SessionsSerializer})
    def get(self, request: Request) -> Response:
        """Where the person is signed in, newest first. A key has no sessions: 403."""
        principal = principal_of(request)
        rows = sessions.listed(sessions.person(principal))
        context = {"session_key": principal.session_key}
        return Response({"sessions": SessionSerializer(rows, many=True, context=context).data})


class SessionDetail(APIView):
    """One session of the caller."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, session_id: int) -> Response:
        """Sign that browser out, and end its streams."""
        sessions.end(sessions.person(principal_of(request)), session_id)
        return Response(status=204)
