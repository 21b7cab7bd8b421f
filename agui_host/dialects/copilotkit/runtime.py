"""The parts of CopilotKit's runtime contract that are plain JSON and no thread: info and stop.

Taken from ``@copilotkit/runtime`` and ``@copilotkit/core`` 1.75; ``run`` and ``connect`` are
streams (``agui_host.web.consumers``).
"""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.dialects import chats
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.fields import wrong
from agui_host.teams.authentication import principal_of
from runs.access import access, capabilities, start

STOPPED = {"type": "RUN_ERROR", "message": "Run stopped by user", "code": "STOPPED"}
"""The text of CopilotKit's own runtime for a stopped run; the stored run ends as cancelled."""


@extend_schema(exclude=True)
class Info(APIView):
    """What CopilotKit asks of a runtime first."""

    def get(self, request: Request) -> Response:
        """The team's agents and their capabilities."""
        principal = principal_of(request)
        access.require(principal, "view")
        return Response(capabilities.info(principal))


@extend_schema(exclude=True)
class IntelligenceInfo(APIView):
    def get(self, request: Request) -> Response:
        """The same for a front end that reads through channels."""
        principal = principal_of(request)
        access.require(principal, "view")
        socket = request.build_absolute_uri("/agui/intelligence/socket").replace("http", "ws", 1)
        return Response(capabilities.info(principal, socket))


@extend_schema(exclude=True)
class Stop(APIView):
    """Stops the runs of a thread."""

    def post(self, request: Request, slug: str, thread_id: str) -> Response:
        """Cancel the active runs of a thread: all of them, or only the run of ``runId``."""
        principal = principal_of(request)
        access.require(principal, "cancel")
        start.find_agent(principal, slug)
        run_id = _run_id(request)
        if chats.stop(principal, thread_id, run_id=run_id):
            return Response({"stopped": True, "interrupt": STOPPED})
        what = "No active run" if run_id is None else f"'{run_id}' is not an active run"
        return Response({"stopped": False, "message": f"{what} of thread '{thread_id}'."})


def _run_id(request: Request) -> str | None:
    """``runId`` of the body or the query; None for an empty body."""
    body = request.data or {}
    if not isinstance(body, dict):
        raise Invalid('Send nothing, or {"runId": a run of the thread}.')
    value = body.get("runId", request.query_params.get("runId"))
    if value is not None and (not isinstance(value, str) or not value):
        raise wrong("runId", "a non-empty string")
    return value
