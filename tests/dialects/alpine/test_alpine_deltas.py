"""Alpine's frames of deltas are made from templates: the bytes are those that the fold makes."""

import json
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from pytest_django import Settings

from agui_host.dialects.alpine.endpoints import Teller
from agui_host.dialects.alpine.fold import Alpine
from agui_host.dialects.alpine.schema import EXTENSIONS
from agui_host.protocol.encoding import encode
from events.frames import Frames

RUN: Any = SimpleNamespace(pk=uuid4())
WANTS = list(EXTENSIONS)
NASTY = ["one", ' "two" \\ 100%b', "drei\u2028\n\u00e4\U0001f600", "{}", "%d"]


def text(key: str, kind: str, **members: Any) -> dict[str, Any]:
    return {"type": f"TEXT_MESSAGE_{kind}", "messageId": key, **members}


def log() -> list[dict[str, Any]]:
    """Two texts and a call, of a subagent and of none, woven together; times that jump."""
    events = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        text("m%b", "START", role="assistant"),
        text("n", "START", role="assistant", subagentRunId="s"),
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"},
        {"type": "REASONING_MESSAGE_START", "messageId": "q", "role": "reasoning"},
    ]
    for piece in NASTY * 2:
        events += [text(key, "CONTENT", delta=piece) for key in ("m%b", "n", "unknown")]
        events.append({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": piece})
        events.append({"type": "REASONING_MESSAGE_CONTENT", "messageId": "q", "delta": piece})
    events += [text("m%b", "END"), text("m%b", "CONTENT", delta="late"), text("n", "END")]
    times = (1_000, 999, 5, 10**18, 1_700_000_000_123)
    return [{**event, "timestamp": times[n % len(times)]} for n, event in enumerate(events)]


def frames_of(events: list[dict[str, Any]]) -> Frames:
    return Frames(1, len(events), [encode(event) for event in events], final=False)


def test_the_bytes_are_those_of_the_fold(settings: Settings) -> None:
    """At any cursor, for readers with and without extensions, and for one that joins late."""
    events = log()
    for settings.ALPINE_AG_UI_VALIDATE_EVENTS in (False, True):
        for wants in (WANTS, []):
            for after, late in ((0, False), (17, False), (30, True)):
                teller = Teller(RUN, wants, after, late=late)
                batch = frames_of(events)
                assert teller.tell(batch) == told_one_by_one(events, wants, after, late=late)


def told_one_by_one(
    events: list[dict[str, Any]], wants: list[str], after: int, *, late: bool
) -> bytes:
    """What a reader gets, with each event fed and each frame encoded."""
    fold, pieces = Alpine(str(RUN.pk), wants), list[bytes]()
    for seq, event in enumerate(events, 1):
        if seq == after + 1 and late:
            pieces += map(named, fold.opening())
        frames = [named(frame) for frame in fold.feed(json.loads(encode(event)))]
        if seq > after:
            pieces += [*frames[:-1], b"id: %d\n" % seq, *frames[-1:]]
    return b"".join(pieces)


def named(frame: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (frame["type"].encode(), encode(frame))


def test_a_delta_is_not_parsed() -> None:
    """Only the first of a part is, from which the template is made."""
    events = [text("m", "CONTENT", delta=str(n), timestamp=n) for n in range(500)]
    batch = frames_of([text("m", "START", role="assistant", timestamp=0), *events])
    Teller(RUN, WANTS, 0, late=False).tell(batch)
    assert len(batch._parsed) == 2
