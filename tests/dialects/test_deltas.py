"""Deltas that a dialect passes on as stored: the bytes are those of frames that were encoded."""

from collections.abc import Callable
from typing import Any

import pytest

from agui_host.dialects.a2a import endpoints as a2a
from agui_host.dialects.a2a.fold import Task
from agui_host.dialects.ai_sdk import endpoints as ai_sdk
from agui_host.dialects.ai_sdk.fold import Stream
from agui_host.dialects.mcp.fold import CallResult
from agui_host.dialects.openai import endpoints as openai
from agui_host.dialects.openai.chat import ChatCompletion
from agui_host.dialects.openai.responses import Responses
from agui_host.dialects.teller import Teller
from agui_host.protocol.encoding import delta_of, deltas_of, encode
from agui_host.protocol.wire.deltas import Framing
from agui_host.protocol.wire.fold import Dialect, Event, numbered
from agui_host.web import sse
from events.frames import Frames

Make = Callable[[str], Dialect]
FOLDS: dict[str, tuple[Make, Framing | None]] = {
    "AI SDK": (Stream, ai_sdk._framed),
    "Responses": (Responses, openai._event),
    "Chat Completions": (ChatCompletion, openai._chunk),
    "A2A": (Task, a2a.BARE.framed),
    "MCP": (CallResult, None),
}
TEXTS = ("word", "", 'a "quote"', "\\", "\\\\", '","delta":"', "%b %d %", "é\u2028\x00\x85", "😀")
IDS = ("plain", 'q"uo\\te', '","delta":"', "100%b %d")
RUN = {"threadId": "t", "runId": "r"}


def log() -> list[Event]:
    """Parts that take turns, of each kind, with odd ids and odd texts."""
    tools = [{"name": "ask", "description": "", "parameters": {}}]
    steps: list[dict[str, Any]] = [{"type": "RUN_STARTED", **RUN, "input": {"tools": tools}}]
    for key in IDS:
        call = {"toolCallId": key, "toolCallName": "ask" if key == "plain" else "search"}
        owner = {"subagentRunId": "s"} if key == "plain" else {}
        user = {"type": "TEXT_MESSAGE_START", "messageId": f"user-{key}", "role": "user"}
        steps += [
            {"type": "REASONING_MESSAGE_START", "messageId": key, "role": "reasoning"},
            {"type": "TEXT_MESSAGE_START", "messageId": key, "role": "assistant"},
            {"type": "TOOL_CALL_START", **call},
            user,
        ]
        for text in TEXTS:
            steps += [
                {"type": "TEXT_MESSAGE_CONTENT", "messageId": key, "delta": text},
                {"type": "REASONING_MESSAGE_CONTENT", "messageId": key, "delta": text},
                {"type": "TOOL_CALL_ARGS", "toolCallId": key, "delta": text},
                {"type": "TEXT_MESSAGE_CONTENT", "messageId": user["messageId"], "delta": text},
                {"type": "TEXT_MESSAGE_CONTENT", "messageId": key, "delta": text, **owner},
            ]
        steps += [
            {"type": "CUSTOM", "name": "between", "value": 1},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": key, "delta": "behind it"},
            {"type": "TOOL_CALL_END", "toolCallId": key},
            {"type": "TEXT_MESSAGE_END", "messageId": key},
            {"type": "TEXT_MESSAGE_END", "messageId": user["messageId"]},
            {"type": "REASONING_MESSAGE_END", "messageId": key},
        ]
    steps.append({"type": "RUN_FINISHED", **RUN})
    return [{**step, "timestamp": 1_700_000_000_000 + n} for n, step in enumerate(steps)]


def batches(size: int) -> list[Frames]:
    payloads = [encode(event) for event in log()]
    return [
        Frames(start + 1, start + len(part), part, final=False)
        for start in range(0, len(payloads), size)
        if (part := payloads[start : start + size])
    ]


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize(("size", "after"), [(1, -1), (7, 300), (10_000, -1)])
def test_the_bytes_are_those_of_encoded_frames(name: str, size: int, after: int) -> None:
    make, framing = FOLDS[name]
    plain, fold = make("run"), make("run")
    teller = Teller(fold, framing, after=after)
    for batch in batches(size):
        encoded = [
            framing(number, frame) if framing and number > after else b""
            for seq, event in enumerate(batch.events, batch.first)
            for number, frame in numbered(plain, seq, event)
        ]
        assert teller(batch) == (b"".join(encoded) or sse.HEARTBEAT)
    for whole in ("response", "completion", "wire", "result"):
        assert getattr(fold, whole, None) == getattr(plain, whole, None), "it adds up to the same"


@pytest.mark.parametrize("name", FOLDS)
def test_only_the_first_delta_of_a_part_is_parsed(name: str, monkeypatch: Any) -> None:
    """However long the log is; and a part goes on after an event of another kind."""
    parsed: list[str] = []
    event_of = Frames.event

    def noting(batch: Frames, place: int) -> Any:
        parsed.append(event_of(batch, place)["type"])
        return event_of(batch, place)

    monkeypatch.setattr(Frames, "event", noting)
    make, framing = FOLDS[name]
    text = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "word", "timestamp": 1}
    start = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant", "timestamp": 1}
    custom = {"type": "CUSTOM", "name": "n", "value": 1, "timestamp": 1}
    events = [start, *[text] * 1000, custom, *[text] * 1000]
    payloads = [encode(event) for event in events]
    Teller(make("run"), framing)(Frames(1, len(payloads), payloads, final=False))
    assert parsed == [start["type"], text["type"], "CUSTOM", text["type"]]


def test_what_is_a_plain_delta() -> None:
    """Only what ``encode`` writes in the short way; the rest is parsed as any event."""
    short = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "d", "timestamp": 1}
    assert delta_of(encode(short)) == (b'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m"', b'"d"')
    for other in (
        {**short, "subagentRunId": "s"},
        {**short, "timestamp": 1.5},
        {key: short[key] for key in ("type", "delta", "messageId", "timestamp")} | {"rawEvent": 1},
        {**short, "type": "TEXT_MESSAGE_CHUNK"},
        {"type": "STATE_DELTA", "delta": [], "timestamp": 1},
    ):
        assert delta_of(encode(other)) is None, other


def test_a_stretch_is_taken_apart_as_each_of_its_events() -> None:
    delta = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": 'a "b"\n', "timestamp": 1}
    more = {**delta, "rawEvent": 1}
    events = [delta, {"type": "RUN_STARTED"}, more, {**delta, "messageId": "n"}, delta]
    payloads = list(map(encode, events))
    for stretch in ([], payloads, [*payloads, b"{\n}"], [b"\n" + payloads[0]], [b"", payloads[0]]):
        assert deltas_of(stretch) == [delta_of(payload) for payload in stretch]
