"""The kinds of part that one event opens, others continue and another closes."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class PartKind(NamedTuple):
    """The types of the events of one kind, and the field with the part's id."""

    key: str
    start: str
    content: str
    end: str


TEXT = PartKind("messageId", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END")
CALL = PartKind("toolCallId", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END")
THOUGHT = PartKind(
    "messageId", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END"
)
STREAMED = (TEXT, CALL, THOUGHT)
"""The kinds whose content comes in pieces; a span of reasoning has none."""

SPAN_KEY, SPAN_START, SPAN_END = "messageId", "REASONING_START", "REASONING_END"


def answer_of(event: Mapping[str, Any]) -> str | None:
    """The id of the assistant's message that an event begins; None for any other event."""
    if event["type"] != TEXT.start or event.get("role", "assistant") != "assistant":
        return None
    return str(event[TEXT.key])
