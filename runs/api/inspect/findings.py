"""Which events of a run the host had to mend."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs.access import access
from runs.access.inspect import findings
from teams.authentication import principal_of


class FindingSerializer(serializers.Serializer[Any]):
    """``seq`` is the event that was inserted or changed, or the one after what was left out."""

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
        """The first 1,000 rules of AG-UI that the run's agent broke, and what the host did."""
        run = access.find(principal_of(request), run_id)
        return Response({"findings": findings.of(run)})
