"""What a fold adds up from a log has a bound, whatever the log's size is; deltas are passed on."""

import json
import tracemalloc
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest

from agui_host import dialects
from agui_host.dialects.ai_sdk.fold import Stream
from agui_host.dialects.ai_sdk.message import UIMessage
from agui_host.dialects.mcp.fold import CallResult
from agui_host.dialects.openai.chat import ChatCompletion
from agui_host.protocol.wire.fold import Dialect
from agui_host.protocol.wire.room import MOST_CHARACTERS, Room, newest, shortened

Event = dict[str, Any]
LENGTH, PIECES = 250_000, 120
START = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
END = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def texts(key: str, kind: str = "TEXT_MESSAGE") -> Iterator[Event]:
    """30 MB in one message."""
    yield {"type": f"{kind}_START", "messageId": key, "role": "assistant"}
    for number in range(PIECES):
        yield {"type": f"{kind}_CONTENT", "messageId": key, "delta": f"{number:>{LENGTH}}"}
    yield {"type": f"{kind}_END", "messageId": key}


def call() -> Iterator[Event]:
    """30 MB of arguments, and as much of results."""
    yield {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "n"}
    for number in range(PIECES):
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": f"{number:>{LENGTH}}"}
    yield {"type": "TOOL_CALL_END", "toolCallId": "c"}
    for number in range(PIECES):
        result = {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": f"t{number}"}
        yield {**result, "content": f"{number:>{LENGTH}}"}


def log() -> Iterator[Event]:
    parts = (texts("r", "REASONING_MESSAGE"), texts("m"), call(), texts("last"))
    for event in chain((START,), *parts, (END,)):
        yield {"timestamp": 1, **event}


class Hydrated:
    """The messages of the AI SDK for a page that loads."""

    def __init__(self, run_id: str) -> None:
        self._stream, self.message = Stream(run_id), UIMessage(run_id)

    def feed(self, event: Any) -> list[Event]:
        for chunk in self._stream.feed(event):
            self.message.feed(chunk)
        return [{"type": "whole", **self.message.wire()}] if event["type"] == END["type"] else []


READERS = [reader for format in dialects.formats() for reader in format.readers]
READERS = [reader for format in dialects.formats() for reader in format.readers]
FOLDS = {reader.name: reader.fold for reader in READERS if reader.fold is not None}
FOLDS["AI SDK, messages"] = Hydrated


@pytest.mark.parametrize("name", FOLDS)
def test_a_fold_of_a_long_run(name: str) -> None:
    fold: Dialect = FOLDS[name]("run")
    longest = most = 0
    tracemalloc.start()
    try:
        for event in log():
            for frame in fold.feed(event):
                longest = max(longest, len(json.dumps(frame)))
            most = max(most, tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert most < 4 * MOST_CHARACTERS, "less than the 30 MB of any of the log's parts"
    assert longest < 1.5 * MOST_CHARACTERS


def test_a_cut_text_says_where_all_of_it_is() -> None:
    completion, result = ChatCompletion("run"), CallResult("run")
    for event in log():
        completion.feed(event)
        result.feed(event)
    (message,) = (choice["message"] for choice in completion.completion["choices"])
    for text in (message["reasoning_content"], result.result["content"][0]["text"]):
        assert len(text) > MOST_CHARACTERS * 9 // 10
        assert text.endswith("The whole: /api/v1/runs/run/events]")
    assert message["content"] == "", "the reasoning has taken all the room"


def test_the_newest_messages_of_a_thread() -> None:
    short = [{"id": str(n), "role": "user", "content": "x" * LENGTH} for n in range(PIECES)]
    fitting = newest(short, Room("/thread"))
    assert fitting == short[-len(fitting) :]
    assert 30 < len(fitting) < PIECES
    calls = [{"id": "c", "function": {"name": "n", "arguments": "x" * MOST_CHARACTERS}}]
    long = {"id": "l", "role": "assistant", "content": "x" * MOST_CHARACTERS, "toolCalls": calls}
    (cut,) = newest([*short, long], Room("/thread"))
    assert cut == shortened(long, "/thread")
    assert len(json.dumps(cut)) < 1.1 * MOST_CHARACTERS
    assert "The whole: /thread]" in json.dumps(cut)
    assert shortened(short[0], "/thread") == short[0]
