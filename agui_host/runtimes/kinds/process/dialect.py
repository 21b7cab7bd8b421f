"""Shared by the dialects of command lines: spans of events, and the data of a session's end."""

from collections.abc import Iterator, Mapping
from typing import Any

from agui_host.protocol.strict_json import dumps_any

Event = dict[str, Any]
Line = dict[str, Any]


class Dialect:
    """Maps one session, line by line, to AG-UI events in wire form. Pure: no clock, no I/O.

    ``name`` is the source of events that pass as RAW. ``session_id``, ``failure`` (the session's
    own words), ``result`` and ``usage`` are its reports so far; ``over``: it has reported
    its end. ``prefix`` makes ids of one run differ from those of others. ``totals`` are the counts
    of the whole session, if it reports any, and ``before`` those at the end of the run before.
    """

    name = ""

    def __init__(self, prefix: str, before: Mapping[str, int] | None = None) -> None:
        self.prefix = prefix
        self.before = before or {}
        self.totals: dict[str, int] = {}
        self.session_id: str | None = None
        self.failure: str | None = None
        self.result: dict[str, Any] = {}
        self.usage: list[dict[str, Any]] = []
        self.over = False

    @staticmethod
    def speaks(line: Line) -> bool:
        """Whether a session of this dialect begins with such a line."""
        raise NotImplementedError

    def feed(self, line: Line) -> Iterator[Event]:
        """The events of one line. A line of unknown shape passes as RAW."""
        raise NotImplementedError

    def raw(self, line: Any) -> Event:
        """A RAW event for data without a place in AG-UI."""
        return {"type": "RAW", "event": line, "source": self.name}


def text_start(id: str) -> Event:
    """Open a message of the assistant."""
    return {"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}


def text_delta(id: str, delta: str) -> Event:
    """A piece of a message's text."""
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta}


def text_end(id: str) -> Event:
    """Close a message."""
    return {"type": "TEXT_MESSAGE_END", "messageId": id}


def text(id: str, whole: str) -> Iterator[Event]:
    """A text message in one piece; nothing for an empty one."""
    if whole:
        yield from (text_start(id), text_delta(id, whole), text_end(id))


def reasoning_start(id: str) -> Iterator[Event]:
    """A span of reasoning begins, with its one message."""
    yield {"type": "REASONING_START", "messageId": id}
    yield {"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}


def reasoning_delta(id: str, delta: str) -> Event:
    """A piece of reasoning."""
    return {"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": delta}


def reasoning_end(id: str) -> Iterator[Event]:
    """Close a reasoning message and its span."""
    yield {"type": "REASONING_MESSAGE_END", "messageId": id}
    yield {"type": "REASONING_END", "messageId": id}


def reasoning(id: str, whole: str) -> Iterator[Event]:
    """A span of reasoning in one piece; nothing for an empty one."""
    if whole:
        yield from reasoning_start(id)
        yield reasoning_delta(id, whole)
        yield from reasoning_end(id)


def call_start(id: str, name: str, parent: str | None = None) -> Event:
    """Open a tool call; ``parent`` is the message that makes it."""
    event = {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name or "tool"}
    return event | ({"parentMessageId": parent} if parent else {})


def call_args(id: str, delta: str) -> Event:
    """A piece of a call's arguments."""
    return {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": delta}


def call_end(id: str) -> Event:
    """Close a tool call."""
    return {"type": "TOOL_CALL_END", "toolCallId": id}


def call(id: str, name: str, args: Any, parent: str | None = None) -> Iterator[Event]:
    """A whole tool call with its arguments."""
    yield from (call_start(id, name, parent), call_args(id, dumps_any(args)), call_end(id))


def call_result(id: str, content: str, failed: bool = False) -> Event:
    """The result of a tool call."""
    event: Event = {
        "type": "TOOL_CALL_RESULT",
        "messageId": f"{id}-result",
        "toolCallId": id,
        "content": content,
        "role": "tool",
    }
    return event | ({"metadata": {"isError": True}} if failed else {})


def of_dict(value: Any) -> dict[str, Any]:
    """``value`` if it is an object, else an empty one: a command can print anything."""
    return value if isinstance(value, dict) else {}


def of_list(value: Any) -> list[Any]:
    """``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def of_text(value: Any) -> str:
    """``value`` if it is text, else its JSON; empty for null."""
    if value is None:
        return ""
    return value if isinstance(value, str) else dumps_any(value)


def of_count(value: Any) -> int:
    """``value`` if it is a count, else 0."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < 2**53 else 0
