"""The team's limits, and what it uses of them."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs.access import access, usage
from teams.authentication import principal_of


class UseSerializer(serializers.Serializer[usage.Use]):
    name = serializers.CharField()
    max = serializers.IntegerField(allow_null=True, help_text="Null: no limit.")
    used = serializers.IntegerField(allow_null=True, help_text="Null for limits of a single run.")


class LimitsSerializer(serializers.Serializer[dict[str, list[usage.Use]]]):
    limits = UseSerializer(many=True)


class TeamLimits(APIView):
    @extend_schema(responses={200: LimitsSerializer})
    def get(self, request: Request) -> Response:
        """Each limit of the team: its name, its value, its present use."""
        principal = principal_of(request)
        access.require(principal, "view")
        return Response(LimitsSerializer({"limits": usage.of(principal.team)}).data)
