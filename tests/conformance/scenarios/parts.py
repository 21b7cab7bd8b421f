"""Events for scripts, and the messages that clients make of them."""

import json
from typing import Any

from tests.conformance.scenarios.plan import Wire

S1: Wire = {"subagentRunId": "s1"}
S2: Wire = {"subagentRunId": "s2"}
"""The tags of two subagents."""


def emit(kind: str, **fields: Any) -> Wire:
    """An operation that sends one event; ``None`` is sent too."""
    return {"emit": {"type": kind, **fields}}


def text(
    id: str, /, *deltas: str, role: str = "assistant", end: bool = True, **tag: Any
) -> list[Wire]:
    """A whole text message; without ``end`` it stays open."""
    return [
        emit("TEXT_MESSAGE_START", messageId=id, role=role, **tag),
        *more(id, *deltas),
        *([emit("TEXT_MESSAGE_END", messageId=id)] if end else []),
    ]


def more(name: str, *deltas: str) -> list[Wire]:
    """Deltas of an open text message."""
    return [emit("TEXT_MESSAGE_CONTENT", messageId=name, delta=delta) for delta in deltas]


def call(
    name: str, *deltas: str, tool: str = "look", end: bool = True, **fields: Any
) -> list[Wire]:
    """A whole tool call; without ``end`` it stays open."""
    return [
        emit("TOOL_CALL_START", toolCallId=name, toolCallName=tool, **fields),
        *args(name, *deltas),
        *([emit("TOOL_CALL_END", toolCallId=name)] if end else []),
    ]


def args(name: str, *deltas: str) -> list[Wire]:
    """More of an open call's arguments."""
    return [emit("TOOL_CALL_ARGS", toolCallId=name, delta=delta) for delta in deltas]


def result(name: str, content: Any = "42", **fields: Any) -> Wire:
    """The result of a call, as the message ``<call>-result``."""
    return emit(
        "TOOL_CALL_RESULT", toolCallId=name, messageId=f"{name}-result", content=content, **fields
    )


def thought(name: str, *deltas: str, end: bool = True, span: bool = True) -> list[Wire]:
    """A reasoning message ``name`` in a span ``<name>-span``; without ``end`` both stay open."""
    return [
        *([emit("REASONING_START", messageId=f"{name}-span")] if span else []),
        emit("REASONING_MESSAGE_START", messageId=name, role="reasoning"),
        *[emit("REASONING_MESSAGE_CONTENT", messageId=name, delta=delta) for delta in deltas],
        *([emit("REASONING_MESSAGE_END", messageId=name)] if end else []),
        *([emit("REASONING_END", messageId=f"{name}-span")] if end and span else []),
    ]


def step(name: str, *inside: Wire, end: bool = True, **tag: Any) -> list[Wire]:
    """A step around other operations."""
    ends = [emit("STEP_FINISHED", stepName=name, **tag)] if end else []
    return [emit("STEP_STARTED", stepName=name, **tag), *inside, *ends]


def subagent(name: str, *inside: Wire, end: bool = True, **fields: Any) -> list[Wire]:
    """An invocation of a subagent around other operations."""
    ends = [emit("SUBAGENT_FINISHED", subagentRunId=name)] if end else []
    start = emit("SUBAGENT_STARTED", subagentRunId=name, name=f"agent {name}", **fields)
    return [start, *inside, *ends]


def patch(*operations: Wire) -> Wire:
    """A change of the state."""
    return emit("STATE_DELTA", delta=list(operations))


def add(path: str, value: Any) -> Wire:
    """One operation of a patch."""
    return {"op": "add", "path": path, "value": value}


def activity(name: str, content: Any, **fields: Any) -> Wire:
    """An activity of the type PLAN."""
    return emit("ACTIVITY_SNAPSHOT", messageId=name, activityType="PLAN", content=content, **fields)


def gate(name: str = "gate") -> list[Wire]:
    """Where the agent waits until the turn's actions at this gate are done.

    A RAW event tells the reader; no other would leave every kind of open item as it is.
    """
    return [emit("RAW", event={"gate": name}), {"gate": name}]


# --- what clients hold


def assistant(id: str, /, content: str, **fields: Any) -> Wire:
    """A message of the assistant."""
    return {"id": id, "role": "assistant", "content": content, **fields}


def called(message: str, *calls: Wire, **fields: Any) -> Wire:
    """A message of the assistant with tool calls."""
    return {"id": message, "role": "assistant", "toolCalls": list(calls), **fields}


def a_call(name: str, arguments: str = "", tool: str = "look", **fields: Any) -> Wire:
    """A tool call in a message."""
    function = {"name": tool, "arguments": arguments}
    return {"id": name, "type": "function", "function": function, **fields}


def got(name: str, content: Any = "42", **fields: Any) -> Wire:
    """The tool message with a call's result."""
    return {
        "id": f"{name}-result", "role": "tool", "toolCallId": name, "content": content, **fields
    }  # fmt: skip


def mused(name: str, content: str, **fields: Any) -> Wire:
    """A reasoning message."""
    return {"id": name, "role": "reasoning", "content": content, **fields}


def doing(name: str, content: Wire, **fields: Any) -> Wire:
    """An activity message of the type PLAN."""
    return {"id": name, "role": "activity", "activityType": "PLAN", "content": content, **fields}


class Json:
    """Equal to any JSON text of the value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and bool(json.loads(other) == self.value)

    __hash__ = None  # type: ignore[assignment]
