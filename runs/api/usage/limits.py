"""The team's limits, and its use of them."""

from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.teams.authentication import principal_of
from runs.access import access
from runs.access.usage import limits


class UseSerializer(serializers.Serializer[limits.Use]):
    """One limit; ``used`` is null where use is not counted."""

    name = serializers.CharField()
    max = serializers.IntegerField(allow_null=True, help_text="Null: no limit.")
    used = serializers.IntegerField(allow_null=True, help_text="Null for limits of a single run.")


@extend_schema_serializer(component_name="TeamLimits")
class LimitsSerializer(serializers.Serializer[dict[str, list[limits.Use]]]):
    """The limits of a team."""

    limits = UseSerializer(many=True)


class TeamLimits(APIView):
    """The limits of the caller's team."""

    @extend_schema(responses={200: LimitsSerializer})
    def get(self, request: Request) -> Response:
        """Each limit of the team: its name, its value, its present use."""
        principal = principal_of(request)
        access.require(principal, "view_team")
        return Response(LimitsSerializer({"limits": limits.of(principal.team)}).data)
