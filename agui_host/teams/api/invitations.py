"""A team's invitations: list the open ones, make one, revoke one."""

from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.teams.access import invitations
from agui_host.teams.api.bodies import Body, without_body
from agui_host.teams.api.pages import NewestFirst
from agui_host.teams.authentication import principal_of
from agui_host.teams.models import Invitation, Role


class InvitationSerializer(serializers.ModelSerializer[Invitation]):
    """An invitation, without its link, which only its mail has."""

    class Meta:
        model = Invitation
        fields = ["id", "email", "role", "invited_by", "created_at", "expires_at", "revoked_at"]
        read_only_fields = fields


class NewInvitationSerializer(Body):
    """An invitation to send."""

    email = serializers.EmailField(max_length=254)
    role = serializers.ChoiceField(Role.choices, default=Role.MEMBER)
    days = serializers.IntegerField(
        min_value=1, max_value=invitations.MOST_DAYS, default=invitations.DAYS
    )


class InvitationList(generics.ListAPIView[Invitation]):
    """The open invitations, newest first."""

    serializer_class = InvitationSerializer
    pagination_class = NewestFirst
    queryset = Invitation.objects.none()

    def get_queryset(self) -> QuerySet[Invitation]:
        principal = principal_of(self.request)
        principal.require("manage_members")
        return invitations.pending(principal.team)

    @extend_schema(request=NewInvitationSerializer, responses={201: InvitationSerializer})
    def post(self, request: Request) -> Response:
        """Invite an address; the link is sent there by e-mail and appears nowhere else."""
        values = NewInvitationSerializer.read(request)
        row = invitations.invite(
            principal_of(request),
            values["email"],
            Role(values["role"]),
            days=values["days"],
        )
        return Response(InvitationSerializer(row).data, status=201)


class InvitationRevoke(APIView):
    """Revokes an invitation."""

    @extend_schema(request=None, responses={200: InvitationSerializer})
    @without_body
    def post(self, request: Request, invitation_id: UUID) -> Response:
        """Revoke an open invitation; an ended one stays as it is."""
        row = invitations.revoke(principal_of(request), invitation_id)
        return Response(InvitationSerializer(row).data)
