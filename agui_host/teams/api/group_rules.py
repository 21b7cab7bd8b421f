"""The roles that groups of the sign-in service give in the team, and the team's domains."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.teams.api.bodies import Body
from agui_host.teams.api.pages import NewestFirst
from agui_host.teams.authentication import principal_of
from agui_host.teams.directory import rules
from agui_host.teams.models import GroupRule, Role, TeamDomain


class GroupRuleSerializer(serializers.ModelSerializer[GroupRule]):
    """A group of the sign-in service, and the role of its people in the team."""

    for_everyone = serializers.BooleanField(
        help_text="True for an operator's rule, which is not limited to the team's domains."
    )

    class Meta:
        model = GroupRule
        fields = ["id", "group", "role", "for_everyone", "created_by", "created_at"]
        read_only_fields = fields


class NewGroupRuleSerializer(Body):
    """A rule to make."""

    group = serializers.CharField(max_length=255)
    role = serializers.ChoiceField(Role.choices, default=Role.MEMBER)


class TeamDomainSerializer(serializers.ModelSerializer[TeamDomain]):
    """A domain whose people join the team when they sign in through the sign-in service."""

    class Meta:
        model = TeamDomain
        fields = ["id", "domain", "role", "created_at"]
        read_only_fields = fields


class DomainsSerializer(serializers.Serializer[Any]):
    """The team's domains."""

    results = TeamDomainSerializer(many=True)


class GroupRuleList(generics.ListAPIView[GroupRule]):
    """The team's rules, newest first."""

    serializer_class = GroupRuleSerializer
    pagination_class = NewestFirst
    queryset = GroupRule.objects.none()

    def get_queryset(self) -> QuerySet[GroupRule]:
        return rules.visible(principal_of(self.request))

    @extend_schema(request=NewGroupRuleSerializer, responses={201: GroupRuleSerializer})
    def post(self, request: Request) -> Response:
        """Give people of the team's domains who are in a group a role, from their next sign-in."""
        values = NewGroupRuleSerializer.read(request)
        row = rules.create(principal_of(request), values["group"], Role(values["role"]))
        return Response(GroupRuleSerializer(row).data, status=201)


class GroupRuleDetail(APIView):
    """One rule."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, rule_id: UUID) -> Response:
        """Remove a rule; its people lose the role at their next sign-in."""
        rules.remove(principal_of(request), rule_id)
        return Response(status=204)


class DomainList(APIView):
    """The team's domains."""

    @extend_schema(responses={200: DomainsSerializer})
    def get(self, request: Request) -> Response:
        """The domains whose people join by signing in; operators add and remove them."""
        rows = rules.domains(principal_of(request))
        return Response({"results": TeamDomainSerializer(rows, many=True).data})
