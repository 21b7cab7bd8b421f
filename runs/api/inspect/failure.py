"""Why a run failed, for roles that manage the team's agents."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.teams.authentication import principal_of
from runs.access.inspect import failures


class CauseSerializer(serializers.Serializer[Any]):
    """An exception, or its cause."""

    exception = serializers.CharField()
    message = serializers.CharField()


class FrameSerializer(serializers.Serializer[Any]):
    """A frame of the agent's traceback; it has no values."""

    module = serializers.CharField()
    file = serializers.CharField()
    line = serializers.IntegerField()
    function = serializers.CharField()


class LogLineSerializer(serializers.Serializer[Any]):
    """A line that the agent logged."""

    at = serializers.IntegerField(help_text="Milliseconds since 1970.")
    level = serializers.CharField()
    text = serializers.CharField()


class FailureSerializer(serializers.Serializer[Any]):
    """``exception`` is null if the agent ended its run with its own error event."""

    exception = serializers.CharField(allow_null=True)
    message = serializers.CharField(allow_null=True)
    causes = CauseSerializer(many=True)
    frames = FrameSerializer(many=True, help_text="In the agent's own modules, innermost last.")
    log = LogLineSerializer(many=True, help_text="The last 50 lines of ctx.log.")


class RunFailure(APIView):
    """Why an agent failed."""

    @extend_schema(responses={200: FailureSerializer})
    def get(self, request: Request, run_id: UUID) -> Response:
        """The agent's exception, its frames and last log lines; needs ``manage_agents``."""
        return Response(failures.find(principal_of(request), run_id))
