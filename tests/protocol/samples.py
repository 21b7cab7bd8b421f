"""One event of each type with every field it can have."""

from typing import Any

Event = dict[str, Any]

_BASE: Event = {"timestamp": 1, "rawEvent": {"a": None}, "metadata": {"k": None}}
_TAGGED: Event = {**_BASE, "subagentRunId": "s"}

PARTS = [
    {"type": "text", "text": "t", "id": "p", "metadata": {}},
    {"type": "image", "source": {"type": "data", "value": "v", "mimeType": "m"}},
    {"type": "audio", "source": {"type": "url", "value": "v"}},
    {
        "type": "document",
        "source": {"type": "file", "value": "v", "provider": "p", "mimeType": "m"},
    },
]
_CALL = {
    "id": "c",
    "type": "function",
    "function": {"name": "n", "arguments": "{}"},
    "encryptedValue": "e",
    "metadata": {},
}
MESSAGES = [
    {"id": "1", "role": "developer", "content": "c", "name": "n"},
    {"id": "2", "role": "system", "content": "c", "encryptedValue": "e"},
    {"id": "3", "role": "assistant", "content": "c", "toolCalls": [_CALL]},
    {"id": "4", "role": "user", "content": PARTS},
    {"id": "5", "role": "tool", "content": "x", "toolCallId": "c", "error": "e"},
    {"id": "6", "role": "activity", "activityType": "a", "content": {"b": [1]}},
    {"id": "7", "role": "reasoning", "content": "r", "subagentRunId": "s", "metadata": {}},
]
PATCH = [
    {"op": "add", "path": "/a", "value": None, "note": "kept"},
    {"op": "remove", "path": ""},
    {"op": "move", "from": "/a", "path": "/b~0~1"},
]
INPUT: Event = {
    "threadId": "t",
    "runId": "r",
    "protocolVersion": "1.0",
    "parentRunId": "p",
    "state": {"a": None},
    "messages": MESSAGES,
    "tools": [{"name": "n", "description": "d", "parameters": {}, "metadata": {}}],
    "context": [{"description": "d", "value": "v"}],
    "forwardedProps": {"x": None},
    "resume": [{"interruptId": "i", "status": "resolved", "payload": 1, "metadata": {}}],
}
INTERRUPT = {
    "id": "i",
    "reason": "r",
    "subagentRunId": "s",
    "message": "m",
    "toolCallId": "c",
    "responseSchema": {},
    "expiresAt": "2026-01-01T00:00:00Z",
    "metadata": {},
}
USAGE = [{"provider": "p", "model": "m", "inputTokens": 1, "outputTokens": 0, "totalTokens": 1}]
_RUN = {"threadId": "t", "runId": "r"}


def _with(type: str, *, tagged: bool = True, **fields: Any) -> Event:
    return {"type": type, **fields, **(_TAGGED if tagged else _BASE)}


FULL: list[Event] = [
    _with("RUN_STARTED", tagged=False, **_RUN, protocolVersion="1.0", parentRunId="p", input=INPUT),
    _with("RUN_FINISHED", tagged=False, **_RUN, result=1, usage=USAGE)
    | {"outcome": {"type": "success", "pendingToolCallIds": ["c"]}},
    _with("RUN_FINISHED", tagged=False, **_RUN)
    | {"outcome": {"type": "interrupt", "interrupts": [INTERRUPT]}},
    _with("RUN_FINISHED", tagged=False, **_RUN, outcome={"type": "cancelled"}),
    _with("RUN_ERROR", tagged=False, message="m", code="c", usage=USAGE),
    _with("STEP_STARTED", stepName="n"),
    _with("STEP_FINISHED", stepName="n"),
    _with("TEXT_MESSAGE_START", messageId="m", role="user", name="n"),
    _with("TEXT_MESSAGE_CONTENT", messageId="m", delta=""),
    _with("TEXT_MESSAGE_END", messageId="m"),
    _with("TEXT_MESSAGE_CHUNK", messageId="m", role="user", name="n", delta="d"),
    _with("TOOL_CALL_START", toolCallId="c", toolCallName="n", parentMessageId="m"),
    _with("TOOL_CALL_ARGS", toolCallId="c", delta="d"),
    _with("TOOL_CALL_END", toolCallId="c"),
    _with("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="n", parentMessageId="m", delta="d"),
    _with("TOOL_CALL_RESULT", messageId="m", toolCallId="c", content=PARTS, role="tool"),
    _with("STATE_SNAPSHOT", snapshot=None),
    _with("STATE_DELTA", delta=PATCH),
    _with("MESSAGES_SNAPSHOT", tagged=False, messages=MESSAGES),
    _with("ACTIVITY_SNAPSHOT", messageId="m", activityType="a", content={}, replace=True),
    _with("ACTIVITY_DELTA", messageId="m", activityType="a", patch=PATCH),
    _with("REASONING_START", messageId="m"),
    _with("REASONING_END", messageId="m"),
    _with("REASONING_MESSAGE_START", messageId="m", role="reasoning"),
    _with("REASONING_MESSAGE_CONTENT", messageId="m", delta="d"),
    _with("REASONING_MESSAGE_END", messageId="m"),
    _with("REASONING_MESSAGE_CHUNK", messageId="m", delta="d"),
    _with("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="m", encryptedValue="v"),
    _with("SUBAGENT_STARTED", name="n", description="d", parentSubagentRunId="p")
    | {"parentToolCallId": "c", "parentMessageId": "m"},
    _with("SUBAGENT_FINISHED", result=1, outcome={"type": "suspended", "interruptIds": ["i"]}),
    _with("SUBAGENT_ERROR", message="m", code="c"),
    _with("RAW", event=None, source="s"),
    _with("CUSTOM", name="n", value=None),
]
