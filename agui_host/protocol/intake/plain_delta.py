"""Plain deltas: a piece of text, of reasoning or of a call's arguments, and nothing else.

Most events are such ones, so they have a separate way, which no table describes.
"""

from typing import Any

from ag_ui.core import ReasoningMessageContentEvent, TextMessageContentEvent, ToolCallArgsEvent

from agui_host.protocol.encoding import DELTA_IDS
from agui_host.protocol.values import MAX_SAFE_INTEGER

PlainDelta = tuple[str, str, str, str, int | None]
"""Type, the field with the part's id, that id, the text, and the timestamp if there is one.

Both texts are the agent's own, not cleaned yet.
"""

_MODELS: dict[type, tuple[str, str, str]] = {
    TextMessageContentEvent: ("TEXT_MESSAGE_CONTENT", "messageId", "message_id"),
    ToolCallArgsEvent: ("TOOL_CALL_ARGS", "toolCallId", "tool_call_id"),
    ReasoningMessageContentEvent: ("REASONING_MESSAGE_CONTENT", "messageId", "message_id"),
}
_EXTRAS = ("raw_event", "metadata", "subagent_run_id")


def plain_delta(event: Any) -> PlainDelta | None:
    """An event that is a plain delta, a dict or the SDK's model; None for any other."""
    cls = event.__class__
    if cls is dict:
        kind = event.get("type")
        key = DELTA_IDS.get(kind) if kind.__class__ is str else None
        if key is None:
            return None
        name, delta = event.get(key), event.get("delta")
        if len(event) == 3:
            stamp = None
        elif len(event) != 4 or (stamp := event.get("timestamp")) is None:
            return None
    else:
        model = _MODELS.get(cls)
        if model is None or event.__pydantic_extra__:
            return None
        kind, key, attribute = model
        values = event.__dict__
        for extra in _EXTRAS:
            if values.get(extra) is not None:
                return None
        stamp, name, delta = values.get("timestamp"), values.get(attribute), values.get("delta")
    if name.__class__ is not str or delta.__class__ is not str:
        return None
    if stamp is not None and (
        stamp.__class__ is not int or not -MAX_SAFE_INTEGER <= stamp <= MAX_SAFE_INTEGER
    ):
        return None
    return kind, key, name, delta, stamp
