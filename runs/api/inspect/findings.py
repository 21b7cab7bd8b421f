"""Which events of a run the host had to mend."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.teams.authentication import principal_of
from runs.access import access
from runs.access.inspect import findings


class FindingSerializer(serializers.Serializer[Any]):
    """``seq`` is the event that was inserted or changed, or the one after the left out events."""

    seq = serializers.IntegerField()
    rule = serializers.CharField()
    action = serializers.CharField()
    times = serializers.IntegerField()
    text = serializers.CharField(help_text="What the action means.")


class FindingsSerializer(serializers.Serializer[Any]):
    findings = FindingSerializer(many=True)


class RunFindings(APIView):
    @extend_schema(responses={200: FindingsSerializer})
    def get(self, request: Request, run_id: UUID) -> Response:
        """The first 1,000 rules of AG-UI that the run's agent broke, and the host's actions."""
        run = access.find(principal_of(request), run_id)
        return Response({"findings": findings.of(run)})
