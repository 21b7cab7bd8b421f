"""A chat of the AI SDK: its messages for a page that loads, and the way to stop its run.

The streams are in ``agui_host/dialects/ai_sdk/endpoints.py``.
"""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.dialects import chats
from agui_host.dialects.ai_sdk import ui_messages
from agui_host.teams.authentication import principal_of
from runs.access import start


@extend_schema(exclude=True)
class ChatMessages(APIView):
    """The messages of a chat, in the AI SDK's form."""

    def get(self, request: Request, slug: str, chat: str) -> Response:
        """The chat as UIMessages, oldest first."""
        principal = principal_of(request)
        start.find_agent(principal, slug)
        return Response(ui_messages.of_thread(principal, chat))


@extend_schema(exclude=True)
class ChatStop(APIView):
    """Stops a chat."""

    def post(self, request: Request, slug: str, chat: str) -> Response:
        """Cancel what runs in the chat; the client's own ``stop()`` only disconnects."""
        principal = principal_of(request)
        start.find_agent(principal, slug)
        return Response({"stopped": chats.stop(principal, chat) > 0}, status=202)
