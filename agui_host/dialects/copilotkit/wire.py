"""CopilotKit's Intelligence socket: AG-UI events pushed through a channel of Phoenix (v2 arrays).

A frame is ``[join_ref, ref, topic, event, payload]``. An event carries its place in the thread,
from which the client resumes: the host's id of the run, and the ``seq`` in it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

from agui_host.protocol import patient_json
from agui_host.protocol.encoding import encode
from agui_host.protocol.errors import BadRequest, HostError
from agui_host.protocol.ids import Position
from agui_host.protocol.input.numbers import position
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.wire.server_sent import blocks

_MOST_SEQ = 10**10 - 1

JOIN, LEAVE, HEARTBEAT, STOP = "phx_join", "phx_leave", "heartbeat", "stop_run"
REPLAY_COMPLETE, STREAM_IDLE = "replay_complete", "stream_idle"
REPLAY_FAILED = "replay_failed"


class Frame(NamedTuple):
    """A client's frame."""

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


def refusal(frame: Frame, error: HostError) -> str:
    """The answer to a frame that was refused."""
    reason = {**error.details, "reason": error.code, "message": error.message}
    return reply(frame, reason, ok=False)


def failures(join: Frame, error: HostError) -> Iterator[str]:
    """The last frames of a channel before its socket is closed: the client's places are no more.

    The event has no place, so that no client resumes after it.
    """
    event = {"type": "RUN_ERROR", "message": error.message, "code": error.code}
    yield dumps(
        [join.join_ref, None, join.topic, REPLAY_FAILED, {"code": error.code, **error.details}]
    )
    yield push(join, encode({**event, "metadata": error.details}))


def control(join: Frame, event: str, latest: str | None) -> str:
    """A note on how far the channel is; ``latest`` is the newest place that was sent."""
    return dumps([join.join_ref, None, join.topic, event, {"latestEventId": latest}])


def push(join: Frame, payload: bytes) -> str:
    """An event, as it was encoded."""
    head = dumps([join.join_ref, None, join.topic, "ag_ui_event"])
    return f"{head[:-1]},{payload.decode()}]"


def place(run: UUID, cursor: int | str) -> str:
    """The cursor behind an event, which has that ``cursor`` in its run."""
    return f"{run.hex}:{cursor}"


def place_of(text: str) -> tuple[UUID, Position]:
    """A cursor's run, and the place in it. Raises ValueError."""
    run, _, cursor = text.partition(":")
    if (number := position(cursor, _MOST_SEQ)) is None:
        raise ValueError(text)
    return UUID(hex=run), number


def marked(payload: bytes, mark: str) -> bytes:
    """An encoded event with its place; one without metadata is not parsed."""
    if b'"metadata"' not in payload:
        return b'%b,"metadata":{"cpki_event_id":"%b"}}' % (payload[:-1], mark.encode())
    event = patient_json.loads(payload)
    metadata = event.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    return encode({**event, "metadata": {**known, "cpki_event_id": mark}})


def pushes(sse: bytes, join: Frame, run: UUID) -> Iterator[str]:
    """Server-sent events of a run as frames; those with an id get their place."""
    for cursor, payload in blocks(sse):
        mark = None if cursor is None else place(run, cursor.decode())
        yield push(join, payload if mark is None else marked(payload, mark))
