"""The people of the team, and the teams of a person."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.errors import NotFound
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.numbers import whole
from agui_host.teams.access import members
from agui_host.teams.api.bodies import Body, without_body
from agui_host.teams.api.pages import NewestFirst
from agui_host.teams.authentication import Principal, principal_of
from agui_host.teams.models import ApiKey, Membership, Role, Team

REVOKE, KEEP = "revoke", "keep"
KEYS = OpenApiParameter(
    "keys", str, enum=[REVOKE, KEEP], default=REVOKE,
    description="What happens to the keys that the person has made.",
)  # fmt: skip


MOST = 10**18 - 1


def number(text: str) -> int:
    """A membership's id. Raises ValueError."""
    if (its_id := whole(text, 0, MOST)) is None:
        raise ValueError(text)
    return its_id


class NewestMembersFirst(NewestFirst):
    """Pages of members, who are numbered in the order they came."""

    position = staticmethod(number)


class MemberSerializer(serializers.ModelSerializer[Membership]):
    """A person in the team.

    ``email`` and ``last_seen_at`` are null unless the caller may manage members.
    """

    user = serializers.CharField(source="user.username", read_only=True)
    name = serializers.CharField(source="user.get_full_name", read_only=True)
    email = serializers.SerializerMethodField()
    active = serializers.BooleanField(source="user.is_active", read_only=True)
    joined_at = serializers.DateTimeField(source="created_at", read_only=True)
    last_seen_at = serializers.SerializerMethodField()

    class Meta:
        model = Membership
        fields = ["id", "user", "name", "email", "role", "active", "joined_at", "last_seen_at"]
        read_only_fields = ["id", "role"]

    def get_email(self, row: Membership) -> str | None:
        """The person's address; null unless the caller may manage members."""
        return row.user.email if self._is_for_managers() else None

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_last_seen_at(self, row: Membership) -> datetime | None:
        """When the person was last seen in this team; null unless the caller may manage members."""
        return row.last_seen_at if self._is_for_managers() else None

    def _is_for_managers(self) -> bool:
        asker = self.context["request"].auth
        return isinstance(asker, Principal) and asker.can("manage_members")


class KeyLeftSerializer(serializers.ModelSerializer[ApiKey]):
    """A key that its maker left behind."""

    class Meta:
        model = ApiKey
        fields = ["id", "prefix", "name", "role", "scopes"]
        read_only_fields = fields


class RemovalSerializer(serializers.Serializer[Any]):
    """The keys that the person had made and that still worked, and how many of the rest ended."""

    keys = KeyLeftSerializer(many=True)
    kept = serializers.BooleanField(source="keys_kept", help_text="False: the keys are revoked.")
    grants = serializers.IntegerField(source="ended.grants")
    links = serializers.IntegerField(source="ended.links")
    invitations = serializers.IntegerField(source="ended.invitations")


class RoleSerializer(Body):
    """A role to give."""

    role = serializers.ChoiceField(Role.choices)


class MemberList(generics.ListAPIView[Membership]):
    """The people of the team, newest first."""

    serializer_class = MemberSerializer
    pagination_class = NewestMembersFirst
    queryset = Membership.objects.none()

    def get_queryset(self) -> QuerySet[Membership]:
        return members.visible(principal_of(self.request))


class MemberDetail(APIView):
    """One member of the team."""

    @extend_schema(responses={200: MemberSerializer})
    def get(self, request: Request, member_id: int) -> Response:
        """One member."""
        return self._shown(request, members.find(principal_of(request), member_id))

    @extend_schema(request=RoleSerializer, responses={200: MemberSerializer})
    def patch(self, request: Request, member_id: int) -> Response:
        """Change the role."""
        role = Role(RoleSerializer.read(request)["role"])
        return self._shown(request, members.change_role(principal_of(request), member_id, role))

    @extend_schema(parameters=[KEYS], responses={200: RemovalSerializer})
    def delete(self, request: Request, member_id: int) -> Response:
        """Remove a person and revoke everything that would let them in again.

        That is their grants through this team, links, invitations, streams and, unless
        ``keys=keep``, the keys they have made. Everybody may remove themselves.
        """
        choice = request.query_params.get("keys", REVOKE)
        if choice not in (REVOKE, KEEP):
            raise Invalid(f"keys must be {REVOKE} or {KEEP}.", details={"path": "keys"})
        removal = members.remove(principal_of(request), member_id, keep_keys=choice == KEEP)
        return Response(RemovalSerializer(removal).data)

    def _shown(self, request: Request, row: Membership) -> Response:
        return Response(MemberSerializer(row, context={"request": request}).data)


class TeamSerializer(serializers.Serializer[Any]):
    """A team of the caller; ``current`` marks the team that this request acts for."""

    id = serializers.UUIDField()
    slug = serializers.SlugField()
    name = serializers.CharField()
    role = serializers.ChoiceField(Role.choices)
    current = serializers.BooleanField()
    key_days = serializers.IntegerField(allow_null=True)
    second_factor = serializers.BooleanField()
    time_zone = serializers.CharField()


class TeamsSerializer(serializers.Serializer[Any]):
    """The caller's teams."""

    results = TeamSerializer(many=True)


class ChangeTeamSerializer(Body):
    """Changes to a team; absent members stay as they are."""

    name = serializers.CharField(max_length=120, required=False)
    time_zone = serializers.CharField(
        max_length=64, required=False, help_text="Of new schedules, such as Europe/Berlin."
    )
    key_days = serializers.IntegerField(
        min_value=1,
        max_value=members.MOST_KEY_DAYS,
        required=False,
        allow_null=True,
        help_text="The longest life of a new key; null: no limit.",
    )
    second_factor = serializers.BooleanField(
        required=False, help_text="Whether members need a second factor."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError("Send name, time_zone, key_days or second_factor.")
        return attrs


class TeamList(APIView):
    """The teams of the caller."""

    @extend_schema(responses={200: TeamsSerializer})
    def get(self, request: Request) -> Response:
        """The caller's teams; for an API key, its own team."""
        principal = principal_of(request)
        results = [_seen(team, role, principal) for team, role in members.teams_of(principal)]
        return Response({"results": TeamSerializer(results, many=True).data})


class TeamDetail(APIView):
    """The team that the request acts for."""

    @extend_schema(request=ChangeTeamSerializer, responses={200: TeamSerializer})
    def patch(self, request: Request, team_id: UUID) -> Response:
        """Rename the team that this request acts for, set its zone or rules; its slug stays."""
        principal = _of_team(request, team_id)
        team = members.change_team(principal, ChangeTeamSerializer.read(request))
        return Response(TeamSerializer(_seen(team, principal.role, principal)).data)


class TeamArchive(APIView):
    """Archives a team."""

    @extend_schema(request=None, responses={204: None})
    @without_body
    def post(self, request: Request, team_id: UUID) -> Response:
        """Archive the team that this request acts for: it can no longer be entered."""
        members.archive(_of_team(request, team_id))
        return Response(status=204)


def _of_team(request: Request, team_id: UUID) -> Principal:
    # The caller, in the team that the URL names; any other team is not found.
    principal = principal_of(request)
    if team_id != principal.team.pk:
        raise NotFound("There is no such team.")
    return principal


def _seen(team: Team, role: Role, principal: Principal) -> dict[str, Any]:
    current = team == principal.team
    return {
        "id": team.pk, "slug": team.slug, "name": team.name, "role": role, "current": current,
        "key_days": team.key_days, "second_factor": team.second_factor,
        "time_zone": team.time_zone,
    }  # fmt: skip
