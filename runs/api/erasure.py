"""Erasing a thread over the API."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.errors import NotFound
from agui_host.teams.authentication import principal_of
from runs.access import access
from runs.lifecycle.deletion import erasure


class ThreadErasure(APIView):
    """The end of a thread, with all that it holds."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, key: UUID) -> Response:
        """Erase a thread with all its runs, for good; 409 while a run has not ended."""
        principal = principal_of(request)
        thread = access.visible_threads(principal).filter(pk=key).first()
        if thread is None:
            raise NotFound("There is no such thread.")
        access.require(principal, "delete")
        erasure.erase_thread(principal, thread)
        return Response(status=204)
