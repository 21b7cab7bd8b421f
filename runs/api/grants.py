"""The grants resource: share a thread or run, see the shares, end them."""

from typing import Any
from uuid import UUID

import django_filters
from django.conf import settings
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.links import absolute
from agui_host.protocol.errors import Invalid
from agui_host.teams.api.bodies import Body
from agui_host.teams.api.pages import NewestFirst
from agui_host.teams.authentication import principal_of
from runs.access import access, sharing, threads
from runs.models import Grant, Level, Run, Thread

KINDS = ("link", "member", "team")


class GrantSerializer(serializers.ModelSerializer[Grant]):
    """A grant on ``thread`` or ``run``, to a ``member``, a ``team`` or the visitors of its link."""

    thread = serializers.UUIDField(source="thread_id", read_only=True, allow_null=True)
    run = serializers.UUIDField(source="run_id", read_only=True, allow_null=True)
    kind = serializers.ChoiceField(KINDS, read_only=True)
    member = serializers.CharField(
        source="to_user.username", read_only=True, default=None, allow_null=True
    )
    to_team = serializers.UUIDField(source="to_team_id", read_only=True, allow_null=True)
    through = serializers.UUIDField(
        source="through_id",
        read_only=True,
        allow_null=True,
        help_text="The team through which the person has it.",
    )
    to_team_name = serializers.CharField(
        source="to_team.name", read_only=True, default=None, allow_null=True
    )
    from_team = serializers.CharField(
        source="team.name", read_only=True, help_text="The name of the team that shares it."
    )
    live = serializers.BooleanField(source="is_live", read_only=True)

    class Meta:
        model = Grant
        fields = [
            "id",
            "thread",
            "run",
            "kind",
            "member",
            "to_team",
            "to_team_name",
            "from_team",
            "through",
            "level",
            "name",
            "sign_in",
            "redact",
            "created_by",
            "created_at",
            "expires_at",
            "revoked_at",
            "last_used_at",
            "live",
        ]
        read_only_fields = fields


class GrantedSerializer(GrantSerializer):
    """A new grant; ``url`` is a link's address, which is shown only this once."""

    url = serializers.CharField(read_only=True, allow_null=True)

    class Meta(GrantSerializer.Meta):
        fields = [*GrantSerializer.Meta.fields, "url"]


class ShareSerializer(Body):
    """What to share (``run`` or ``thread``, the host's ids), with whom, and how."""

    run = serializers.UUIDField(required=False)
    thread = serializers.UUIDField(required=False)
    member = serializers.CharField(required=False, help_text="A login; without it, a link.")
    to_team = serializers.UUIDField(required=False, help_text="Another team's id.")
    level = serializers.ChoiceField(Level.choices, default=Level.VIEW)
    name = serializers.CharField(max_length=120, required=False, default="", allow_blank=True)
    expires_at = serializers.DateTimeField(required=False, allow_null=True, default=None)
    sign_in = serializers.BooleanField(default=False)
    redact = serializers.ListField(
        child=serializers.CharField(max_length=200), max_length=50, default=list
    )


class GrantFilter(django_filters.FilterSet):
    """The query of the list of grants."""

    run = django_filters.UUIDFilter()
    thread = django_filters.UUIDFilter()

    class Meta:
        model = Grant
        fields: list[str] = []


class NewestGrantFirst(NewestFirst):
    """Pages of grants, which are numbered in the order they were made."""

    ordering = "-id"


class GrantList(generics.ListAPIView[Grant]):
    """The grants that the caller may see."""

    serializer_class = GrantSerializer
    pagination_class = NewestGrantFirst
    filterset_class = GrantFilter
    queries = ("received",)
    queryset = Grant.objects.none()

    def get_queryset(self) -> QuerySet[Grant]:
        principal = principal_of(self.request)
        if self.request.query_params.get("received") == "true":
            return sharing.received(principal)
        return sharing.managed(principal)

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "received",
                bool,
                description="The grants that others made to you, instead of yours.",
            )
        ]
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The team's shares, newest first: owners see all of them, others those of visible threads.

        With ``received=true``: shares with you.
        """
        return super().get(request, *args, **kwargs)

    @extend_schema(request=ShareSerializer, responses={201: GrantedSerializer})
    def post(self, request: Request) -> Response:
        """Share a thread or a run."""
        principal = principal_of(request)
        access.require(principal, "share")
        data = ShareSerializer.read(request)
        grant, token = sharing.share(
            principal,
            self._what(data),
            sharing.To(data.get("member"), data.get("to_team")),
            sharing.Terms(
                Level(data["level"]),
                data["expires_at"],
                data["name"],
                data["sign_in"],
                data["redact"],
            ),
        )
        grant.refresh_from_db()
        members = GrantSerializer(grant).data
        path = f"/shared/{token}/"
        at = absolute(path) if settings.AGUI_PUBLIC_URL else request.build_absolute_uri(path)
        url = at if token else None
        return Response({**members, "url": url}, status=201)

    def _what(self, data: dict[str, Any]) -> Thread | Run:
        principal = principal_of(self.request)
        if ("run" in data) == ("thread" in data):
            raise Invalid("Name a run or a thread.", details={"path": "run"})
        if "run" in data:
            return access.find(principal, data["run"])
        return threads.find(principal, data["thread"])


class GrantDetail(APIView):
    """One grant."""

    @extend_schema(responses={200: GrantSerializer})
    def get(self, request: Request, grant_id: UUID) -> Response:
        """One grant."""
        return Response(GrantSerializer(sharing.find(principal_of(request), grant_id)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, grant_id: UUID) -> Response:
        """Revoke the grant: it gives no access from now on, and open streams that it serves end."""
        sharing.revoke(principal_of(request), grant_id)
        return Response(status=204)
