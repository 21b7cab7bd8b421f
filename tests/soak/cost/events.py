"""One template of each event kind, what has to stand before it in a log, and who reads events."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis import strategies as st

from agui_host.dialects.a2a.fold import Task
from agui_host.dialects.ai_sdk.fold import Stream
from agui_host.dialects.alpine.fold import Alpine
from agui_host.dialects.mcp.fold import CallResult
from agui_host.dialects.openai.chat import ChatCompletion
from agui_host.dialects.openai.responses import Responses
from agui_host.protocol.errors import HostError
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.fold.prelude import prelude
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.views.link import LinkView
from agui_host.protocol.views.redaction import Redaction
from tests.soak.cost.hostile import MOST, PATCH, VALUE, within

Event = dict[str, Any]
IDS = {"threadId": "t", "runId": "r"}
USER = {"id": "u", "role": "user", "content": [{"type": "text", "text": "Hi."}]}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASSISTANT = {"id": "a", "role": "assistant", "content": "x", "toolCalls": [CALL]}
TOOL = {"id": "p", "role": "tool", "toolCallId": "c", "content": "1"}
QUESTION = {"id": "i", "reason": "confirm", "message": "?", "responseSchema": {"type": "string"}}

TEMPLATES: dict[str, Event] = {
    "RUN_STARTED": {**IDS, "input": {**IDS, "messages": [USER], "state": {}, "tools": []}},
    "RUN_FINISHED": {
        **IDS,
        "result": {},
        "outcome": {"type": "interrupt", "interrupts": [QUESTION]},
    },
    "RUN_ERROR": {"message": "x", "code": "x", "usage": [{"inputTokens": 1}]},
    "STEP_STARTED": {"stepName": "s"},
    "STEP_FINISHED": {"stepName": "s"},
    "TEXT_MESSAGE_START": {"messageId": "n", "role": "assistant"},
    "TEXT_MESSAGE_CONTENT": {"messageId": "m", "delta": "x"},
    "TEXT_MESSAGE_END": {"messageId": "m"},
    "TEXT_MESSAGE_CHUNK": {"messageId": "k", "role": "assistant", "delta": "x"},
    "TOOL_CALL_START": {"toolCallId": "d", "toolCallName": "f", "parentMessageId": "m"},
    "TOOL_CALL_ARGS": {"toolCallId": "c", "delta": "{"},
    "TOOL_CALL_END": {"toolCallId": "c"},
    "TOOL_CALL_CHUNK": {"toolCallId": "k", "toolCallName": "f", "delta": "{"},
    "TOOL_CALL_RESULT": {"messageId": "p", "toolCallId": "c", "content": "1"},
    "STATE_SNAPSHOT": {"snapshot": {"a": [0], "b": {}}},
    "STATE_DELTA": {"delta": [{"op": "add", "path": "/a/0", "value": 0}]},
    "MESSAGES_SNAPSHOT": {"messages": [USER, ASSISTANT, TOOL]},
    "ACTIVITY_SNAPSHOT": {"messageId": "v", "activityType": "x", "content": {"a": [0]}},
    "ACTIVITY_DELTA": {"messageId": "v", "activityType": "x", "patch": []},
    "REASONING_START": {"messageId": "g"},
    "REASONING_END": {"messageId": "q"},
    "REASONING_MESSAGE_START": {"messageId": "g", "role": "reasoning"},
    "REASONING_MESSAGE_CONTENT": {"messageId": "q", "delta": "x"},
    "REASONING_MESSAGE_END": {"messageId": "q"},
    "REASONING_MESSAGE_CHUNK": {"messageId": "g", "delta": "x"},
    "REASONING_ENCRYPTED_VALUE": {"subtype": "message", "entityId": "m", "encryptedValue": "x"},
    "SUBAGENT_STARTED": {"subagentRunId": "w", "name": "x", "description": "x"},
    "SUBAGENT_FINISHED": {"subagentRunId": "s", "result": {}},
    "SUBAGENT_ERROR": {"subagentRunId": "s", "message": "x"},
    "RAW": {"event": {"a": 1}, "source": "x"},
    "CUSTOM": {"name": "x", "value": {"a": 1}},
}
BEFORE: tuple[Event, ...] = (
    {"type": "RUN_STARTED", **IDS},
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
    {"type": "REASONING_MESSAGE_START", "messageId": "q", "role": "reasoning"},
    {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "x"},
    {"type": "STATE_SNAPSHOT", "snapshot": {"a": [0] * 20_000, "b": {}}},
    {"type": "ACTIVITY_SNAPSHOT", "messageId": "v", "activityType": "x",
     "content": {"a": [0] * 5_000}},
)  # fmt: skip
READERS: dict[str, Callable[[], Callable[[Event], Any]]] = {
    "fold": lambda: Fold().feed,
    "link view": lambda: LinkView(Redaction(["secret", "a.b"])).show,
    "alpine": lambda: Alpine("r").feed,
    "ai_sdk": lambda: Stream("r").feed,
    "responses": lambda: Responses("r").feed,
    "chat": lambda: ChatCompletion("r").feed,
    "a2a": lambda: Task("r").feed,
    "mcp": lambda: CallResult("r").feed,
}


def several(kind: str) -> st.SearchStrategy[list[Event]]:
    """Events of one kind, as many as fit: one that is hostile, again and again."""
    template = TEMPLATES[kind]
    one = within(template).map(lambda body: body if isinstance(body, dict) else template)
    if kind in ("STATE_DELTA", "ACTIVITY_DELTA"):
        member = "delta" if kind == "STATE_DELTA" else "patch"
        one = st.one_of(PATCH.map(lambda patch: {**template, member: patch}), one)
    elif kind in ("STATE_SNAPSHOT", "CUSTOM", "RAW"):
        member = {"STATE_SNAPSHOT": "snapshot", "CUSTOM": "value", "RAW": "event"}[kind]
        one = st.one_of(VALUE.map(lambda value: {**template, member: value}), one)
    return st.builds(_again, one.map(lambda body: {"type": kind, **body}), st.integers(1, 200))


def _again(event: Event, count: int) -> list[Event]:
    return [event] * max(1, min(count, MOST // len(json.dumps(event))))


def taken(events: list[Event]) -> Callable[[], Awaitable[None]]:
    """Let intake take them, the loop its turn between."""

    async def run() -> None:
        intake = Intake("t", "r")
        for event in (*BEFORE, *events):
            try:
                intake.accept(event)
            except HostError:
                return
            await asyncio.sleep(0)

    return run


def read(reader: str, events: list[Event]) -> Callable[[], Awaitable[None]]:
    """Let a reader read what intake leaves of them, the loop its turn between."""
    intake, log = Intake("t", "r"), []
    for event in (*BEFORE, *events):
        try:
            log += [json.loads(record.payload) for record in intake.accept(event)]
        except HostError:
            break

    async def run() -> None:
        feed = READERS[reader]()
        for event in log:
            feed(event)
            await asyncio.sleep(0)

    return run


def joined(events: list[Event]) -> Callable[[], Awaitable[None]]:
    """Let a reader join behind them: the prelude, from a stored fold."""
    intake, fold = Intake("t", "r"), Fold()
    for event in (*BEFORE, *events):
        try:
            for record in intake.accept(event):
                fold.feed(json.loads(record.payload))
        except HostError:
            break
    stored = fold.dump()

    async def run() -> None:
        prelude(Fold.load(stored))

    return run
