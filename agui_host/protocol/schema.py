"""The 31 events of AG-UI 1.0 as tables: their fields, the type of each, and which are required.

Taken from the zod schemas of ``@ag-ui/core`` 1.0.0. A field is text unless its keyword sets another
type. ``agui_host/protocol/intake/gate.py`` interprets them, for events and inputs; nothing here
checks anything.
"""

from typing import Any

from agui_host.protocol.legacy_events import media_part
from agui_host.protocol.shapes import Choice, Leaf, Many, Shape, Variants, shape

PROTOCOL_VERSION = "1.0"

TERMINAL = frozenset({"RUN_FINISHED", "RUN_ERROR"})
"""The events that end a run."""

TEXT, DELTA, JSON, OBJECT, COUNT = Leaf.TEXT, Leaf.DELTA, Leaf.JSON, Leaf.OBJECT, Leaf.COUNT


def _choice(values: str) -> Choice:
    return Choice(frozenset(values.split()))


def _source(required: str, optional: str = "") -> Shape:
    return shape(f"type value {required}", optional)


_SOURCE = Variants(
    "type",
    {
        "data": _source("mimeType"),
        "url": _source("", "mimeType"),
        "file": _source("", "provider mimeType"),
    },
)
_MEDIA = shape("type source", "id metadata", source=_SOURCE, metadata=JSON)
_PART = Variants(
    "type",
    {"text": shape("type text", "id metadata", metadata=JSON)}
    | dict.fromkeys(("image", "audio", "video", "document"), _MEDIA),
    legacy={"binary": media_part},
)
PARTS_OR_TEXT = Many(_PART, or_text=True)

ENCRYPTED = "encryptedValue encryptedValueType"
"""The type is of the draft 1.1; nothing else is."""
_TOOL_CALL = shape(
    "id type function",
    f"{ENCRYPTED} metadata",
    type=_choice("function"),
    function=shape("name arguments"),
    metadata=OBJECT,
)


def _message(required: str, optional: str = "", **kinds: Any) -> Shape:
    return shape(
        f"id role {required}", f"subagentRunId metadata {optional}", metadata=OBJECT, **kinds
    )


MESSAGE = Variants(
    "role",
    {
        "developer": _message("content", f"name {ENCRYPTED}"),
        "system": _message("content", f"name {ENCRYPTED}"),
        "assistant": _message(
            "", f"content name {ENCRYPTED} toolCalls", toolCalls=Many(_TOOL_CALL)
        ),
        "user": _message("content", f"name {ENCRYPTED}", content=PARTS_OR_TEXT),
        "tool": _message("content toolCallId", f"error {ENCRYPTED}", content=PARTS_OR_TEXT),
        "activity": _message("activityType content", content=OBJECT),
        "reasoning": _message("content", ENCRYPTED),
    },
)


def _operation(required: str, **kinds: Any) -> Shape:
    kinds |= {"path": Leaf.POINTER} | ({"from": Leaf.POINTER} if "from" in required else {})
    return shape(f"op path {required}", is_open=True, **kinds)


PATCH = Many(
    Variants(
        "op",
        {
            "remove": _operation(""),
            **{op: _operation("value", value=JSON) for op in ("add", "replace", "test")},
            **{op: _operation("from") for op in ("move", "copy")},
        },
    )
)

RUN_AGENT_INPUT = shape(
    "threadId runId messages",
    "protocolVersion parentRunId state tools context forwardedProps resume",
    messages=Many(MESSAGE),
    state=JSON,
    tools=Many(shape("name description", "parameters metadata", parameters=JSON, metadata=OBJECT)),
    context=Many(shape("description value")),
    forwardedProps=JSON,
    resume=Many(
        shape(
            "interruptId status",
            "payload metadata",
            status=_choice("resolved cancelled"),
            payload=Leaf.NULLABLE,
            metadata=OBJECT,
        )
    ),
)

_INTERRUPT = shape(
    "id reason",
    "subagentRunId message toolCallId responseSchema expiresAt metadata",
    responseSchema=OBJECT,
    metadata=OBJECT,
)
RUN_OUTCOME = Variants(
    "type",
    {
        "success": shape("type", "pendingToolCallIds", pendingToolCallIds=Many(TEXT)),
        "interrupt": shape("type interrupts", interrupts=Many(_INTERRUPT, least=1)),
        "cancelled": shape("type"),
    },
)
_SUBAGENT_OUTCOME = Variants(
    "type",
    {
        "success": shape("type"),
        "suspended": shape("type", "interruptIds", interruptIds=Many(TEXT)),
    },
)
_COUNTS = (
    "inputTokens outputTokens totalTokens reasoningTokens cachedInputTokens cacheWriteInputTokens"
)
_USAGE_KINDS: dict[str, Any] = dict.fromkeys(_COUNTS.split(), COUNT)
USAGE = Many(shape("", f"provider model {_COUNTS}", **_USAGE_KINDS))


def _run_event(required: str, optional: str = "", **kinds: Any) -> Shape:
    kinds |= {"timestamp": Leaf.STAMP, "rawEvent": JSON, "metadata": OBJECT}
    return shape(f"type {required}", f"{optional} timestamp rawEvent metadata", **kinds)


def _event(required: str, optional: str = "", **kinds: Any) -> Shape:
    return _run_event(required, f"{optional} subagentRunId", **kinds)


_TEXT_ROLE = _choice("developer system assistant user")

EVENTS: dict[str, Shape] = {
    "RUN_STARTED": _run_event(
        "threadId runId", "protocolVersion parentRunId input", input=RUN_AGENT_INPUT
    ),
    "RUN_FINISHED": _run_event(
        "threadId runId", "result outcome usage", result=JSON, outcome=RUN_OUTCOME, usage=USAGE
    ),
    "RUN_ERROR": _run_event("message", "code usage", usage=USAGE),
    "STEP_STARTED": _event("stepName"),
    "STEP_FINISHED": _event("stepName"),
    "TEXT_MESSAGE_START": _event("messageId", "role name", role=_TEXT_ROLE),
    "TEXT_MESSAGE_CONTENT": _event("messageId delta", delta=DELTA),
    "TEXT_MESSAGE_END": _event("messageId"),
    "TEXT_MESSAGE_CHUNK": _event("", "messageId role name delta", role=_TEXT_ROLE, delta=DELTA),
    "TOOL_CALL_START": _event("toolCallId toolCallName", "parentMessageId"),
    "TOOL_CALL_ARGS": _event("toolCallId delta", delta=DELTA),
    "TOOL_CALL_END": _event("toolCallId"),
    "TOOL_CALL_CHUNK": _event("", "toolCallId toolCallName parentMessageId delta", delta=DELTA),
    "TOOL_CALL_RESULT": _event(
        "messageId toolCallId content", "role", content=PARTS_OR_TEXT, role=_choice("tool")
    ),
    "STATE_SNAPSHOT": _event("snapshot", snapshot=JSON),
    "STATE_DELTA": _event("delta", delta=PATCH),
    "MESSAGES_SNAPSHOT": _run_event("messages", messages=Many(MESSAGE)),
    "ACTIVITY_SNAPSHOT": _event(
        "messageId activityType content", "replace", content=OBJECT, replace=Leaf.BOOL
    ),
    "ACTIVITY_DELTA": _event("messageId activityType patch", patch=PATCH),
    "REASONING_START": _event("messageId"),
    "REASONING_END": _event("messageId"),
    "REASONING_MESSAGE_START": _event(
        "messageId role", role=_choice("reasoning"), defaults={"role": "reasoning"}
    ),
    "REASONING_MESSAGE_CONTENT": _event("messageId delta", delta=DELTA),
    "REASONING_MESSAGE_END": _event("messageId"),
    "REASONING_MESSAGE_CHUNK": _event("", "messageId delta", delta=DELTA),
    "REASONING_ENCRYPTED_VALUE": _event(
        "subtype entityId encryptedValue",
        "encryptedValueType",
        subtype=_choice("message tool-call"),
    ),
    "SUBAGENT_STARTED": _run_event(
        "subagentRunId name", "description parentSubagentRunId parentToolCallId parentMessageId"
    ),
    "SUBAGENT_FINISHED": _run_event(
        "subagentRunId", "result outcome", result=JSON, outcome=_SUBAGENT_OUTCOME
    ),
    "SUBAGENT_ERROR": _run_event("subagentRunId message", "code"),
    "RAW": _event("event", "source", event=JSON),
    "CUSTOM": _event("name value", value=JSON),
}
"""Every event type of AG-UI 1.0 and the shape of its object."""
