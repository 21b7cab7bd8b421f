"""Plain deltas: a piece of text, of reasoning or of a call's arguments, and nothing else.

Most events are such ones, so they have a separate way, which no table describes.
"""

from collections import deque
from json.encoder import encode_basestring as quote
from typing import Any

from ag_ui.core import ReasoningMessageContentEvent, TextMessageContentEvent, ToolCallArgsEvent

from agui_host.protocol.encoding import (
    DELTA_IDS,
    Record,
    around_delta,
    clean_delta,
    encode_delta,
    is_whole,
    text_bytes,
)
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
STRETCH = 4 * 1024
"""Bytes of deltas that are taken together: far below a lump of work (``runs/worker/pace.py``)."""
Queue = deque[Any]
"""Events that wait to be taken."""
_new = tuple.__new__  # makes a named tuple in a third of the time


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


def take_all(
    delta: PlainDelta,
    name: str,
    at: float,
    time: int,
    queue: Queue | None,
    most: float,
    longest: int,
) -> tuple[str, list[Record]]:
    """Take a delta of the part ``name``, and the next ones of it off the front of ``queue``.

    Returns their whole text and their records, up to ``most`` and ``STRETCH`` bytes. Stops before a
    delta that is longer than ``longest`` bytes or ends within a character.
    """
    kind, key, _, text, stamp = delta
    if not text.isascii() and not is_whole(text := clean_delta(text)):
        return text, []
    payload = encode_delta(kind, key, name, text, time)
    if (size := len(payload)) > longest:
        return text, []
    records = [_new(Record, (kind, payload, at))]
    if not queue or stamp is not None:
        return text, records
    before, after = around_delta(kind, key, name, time)
    texts = [text]
    while queue and len(records) < most and (following := _continued(queue[0], delta)) is not None:
        if len(following) > STRETCH:
            break
        if not following.isascii() and not is_whole(following := clean_delta(following)):
            break
        payload = text_bytes(f"{before}{quote(following)}{after}")
        size += len(payload)
        if len(payload) > longest or size > STRETCH:
            break
        queue.popleft()
        texts.append(following)
        records.append(_new(Record, (kind, payload, at)))
    return "".join(texts), records


def _continued(event: Any, delta: PlainDelta) -> str | None:
    """The text of an event that continues the part of ``delta``, without a timestamp."""
    kind, key, name, _, _ = delta
    if event.__class__ is not dict:
        other = plain_delta(event)
        is_next = other is not None and other[:3] == delta[:3] and other[4] is None
        return other[3] if other and is_next else None
    if len(event) != 3:
        return None
    its_kind, its_name, text = event.get("type"), event.get(key), event.get("delta")
    if not its_kind.__class__ is its_name.__class__ is text.__class__ is str:
        return None
    return text if its_name == name and its_kind == kind else None
