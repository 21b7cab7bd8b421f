"""Messages to an active run, and whether its agent has read them."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.protocol.input.numbers import whole
from agui_host.teams.api.bodies import Body
from agui_host.teams.authentication import principal_of
from runs.access import comments
from runs.api.comments import PAGES, OldestFirst
from runs.lifecycle.steering.messages import LONGEST, LONGEST_ID
from runs.models import RunMessage


class RunMessageSerializer(serializers.ModelSerializer[RunMessage]):
    """``seen_seq`` is the event with which the agent read the message, null before.

    ``carried_by`` is the later run whose input has a message that this run never read. A message
    with ``withdrawn_at`` will not be read: its sender has lost access.
    """

    id = serializers.CharField(source="message_id")
    role = serializers.SerializerMethodField()
    carried_by = serializers.UUIDField(source="carried_by_id", allow_null=True)

    class Meta:
        model = RunMessage
        fields = [
            "id",
            "seq",
            "role",
            "content",
            "author",
            "created_at",
            "seen_seq",
            "seen_at",
            "carried_by",
            "withdrawn_at",
        ]
        read_only_fields = fields

    def get_role(self, message: RunMessage) -> str:
        """Whose message it is, as in AG-UI: always ``user``."""
        return "user"


class Text(serializers.CharField):
    """Text as it was sent: a number is no text."""

    def to_internal_value(self, data: Any) -> str:
        """Refuse what the base class would turn into text."""
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class SaySerializer(Body):
    """A message to a run; its sender chooses the ``id``, under which it is stored once."""

    id = Text(max_length=LONGEST_ID, trim_whitespace=False)
    role = serializers.ChoiceField(["user"])
    content = Text(max_length=LONGEST, trim_whitespace=False)


@extend_schema_serializer(component_name="RunMessageList")
class RunMessagesSerializer(serializers.Serializer[Any]):
    """The messages that were sent to a run."""

    messages = RunMessageSerializer(many=True)
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)


def _number(text: str) -> int:
    if (number := whole(text, 0, 2**31 - 1)) is None:
        raise ValueError(text)
    return number


class InOrder(OldestFirst):
    """Pages in the order of the messages' numbers."""

    ordering = "seq"
    position = staticmethod(_number)


class RunMessages(APIView):
    """The messages to a run."""

    @extend_schema(parameters=PAGES, responses={200: RunMessagesSerializer})
    def get(self, request: Request, run_id: UUID) -> Response:
        """The messages that were sent to a run, and where its agent has read them."""
        pages = InOrder()
        rows = pages.read(request, self, comments.messages_to(principal_of(request), run_id))
        return pages.answer("messages", RunMessageSerializer(rows, many=True).data)
