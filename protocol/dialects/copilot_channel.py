"""CopilotKit's Intelligence socket: AG-UI events pushed through a channel of Phoenix (v2 arrays).

A frame is ``[join_ref, ref, topic, event, payload]``. An event carries its place in the thread,
from which the client resumes: the host's id of the run, and the ``seq`` in it.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

from protocol.dialects.server_sent import blocks
from protocol.encoding import encode
from protocol.errors import BadRequest
from protocol.input.numbers import whole
from protocol.strict_json import dumps

_MOST_SEQ = 10**10 - 1

JOIN, LEAVE, HEARTBEAT, STOP = "phx_join", "phx_leave", "heartbeat", "stop_run"
REPLAY_COMPLETE, STREAM_IDLE = "replay_complete", "stream_idle"


class Frame(NamedTuple):
    """What a client sends."""

    join_ref: str | None
    ref: str | None
    topic: str
    event: str
    payload: dict[str, Any]


def read(value: Any) -> Frame:
    """A frame from its JSON. Raises BadRequest."""
    if isinstance(value, list) and len(value) == 5:
        join_ref, ref, topic, event, payload = value
        refs = all(each is None or isinstance(each, str) for each in (join_ref, ref))
        if refs and isinstance(topic, str) and isinstance(event, str) and isinstance(payload, dict):
            return Frame(*value)
    raise BadRequest("A frame is [join_ref, ref, topic, event, payload].")


def reply(frame: Frame, response: dict[str, Any], *, ok: bool = True) -> str:
    """The answer to a frame."""
    payload = {"status": "ok" if ok else "error", "response": response}
    return dumps([frame.join_ref, frame.ref, frame.topic, "phx_reply", payload])


def control(join: Frame, event: str, latest: str | None) -> str:
    """A note on how far the channel is; ``latest`` is the newest place that was sent."""
    return dumps([join.join_ref, None, join.topic, event, {"latestEventId": latest}])


def push(join: Frame, payload: bytes) -> str:
    """An event, as it was encoded."""
    head = dumps([join.join_ref, None, join.topic, "ag_ui_event"])
    return f"{head[:-1]},{payload.decode()}]"


def place(run: UUID, seq: int) -> str:
    """The cursor behind an event."""
    return f"{run.hex}:{seq}"


def place_of(text: str) -> tuple[UUID, int]:
    """A cursor's run and ``seq``. Raises ValueError."""
    run, _, seq = text.partition(":")
    if (number := whole(seq, 0, _MOST_SEQ)) is None:
        raise ValueError(text)
    return UUID(hex=run), number


def marked(payload: bytes, mark: str) -> bytes:
    """An encoded event with its place; one without metadata is not parsed."""
    if b'"metadata"' not in payload:
        return b'%b,"metadata":{"cpki_event_id":"%b"}}' % (payload[:-1], mark.encode())
    event = json.loads(payload)
    metadata = event.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    return encode({**event, "metadata": {**known, "cpki_event_id": mark}})


def pushes(sse: bytes, join: Frame, run: UUID) -> Iterator[str]:
    """Server-sent events of a run as frames; those with an id get their place."""
    for seq, payload in blocks(sse):
        yield push(join, payload if seq is None else marked(payload, place(run, seq)))
