"""Parts that a RunContext opens and closes: messages, tool calls, steps, reasoning, activities.

Each works as ``with`` and as ``async with``, and closes itself if the body raises.
"""

import uuid
from typing import Any, Self

from agui_host.protocol.strict_json import dumps_any
from agui_host.runtimes.context.outbox import Outbox, frozen


def new_id() -> str:
    """A new id of a message, a call or a step."""
    return str(uuid.uuid4())


def as_text(value: Any) -> str:
    """``value`` if it is text already, else its compact JSON."""
    if isinstance(value, str):
        return value
    return dumps_any(value)


class Span:
    """Something open from ``__enter__`` to ``__exit__``."""

    def __init__(self, outbox: Outbox, id: str | None = None) -> None:
        self.id = id or new_id()
        self._outbox = outbox
        self._open = False

    def _start(self) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Close now rather than at the end of the block; closing twice is fine."""
        if self._open:
            self._open = False
            self._end()

    def _put_inside(self, event: dict[str, Any]) -> None:
        if not self._open:
            raise RuntimeError(f"this {type(self).__name__} is not open: write inside its 'with'")
        self._outbox.put(event)

    def __enter__(self) -> Self:
        self._start()
        self._open = True
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.__exit__(kind)


class Message(Span):
    """A text message that is being written."""

    def __init__(self, outbox: Outbox, id: str | None, role: str, name: str | None) -> None:
        super().__init__(outbox, id)
        self._fields = {"role": role} | ({"name": name} if name else {})

    def write(self, delta: str) -> None:
        """Send a piece of the message's text."""
        self._put_inside({"type": "TEXT_MESSAGE_CONTENT", "messageId": self.id, "delta": delta})

    def _start(self) -> None:
        self._outbox.end_text()
        self._outbox.put({"type": "TEXT_MESSAGE_START", "messageId": self.id, **self._fields})

    def _end(self) -> None:
        self._outbox.close({"type": "TEXT_MESSAGE_END", "messageId": self.id})


class ToolCall(Span):
    """A tool call whose arguments are being written."""

    def __init__(
        self, outbox: Outbox, id: str | None, name: str, args: Any, parent: str | None
    ) -> None:
        super().__init__(outbox, id)
        self._fields = {"toolCallName": name} | ({"parentMessageId": parent} if parent else {})
        self._args = None if args is None else as_text(args)

    def write(self, fragment: str) -> None:
        """Append to the text of the arguments, which is JSON when it is complete."""
        self._put_inside({"type": "TOOL_CALL_ARGS", "toolCallId": self.id, "delta": fragment})

    def result(self, content: Any) -> str:
        """Send the call's result: text, content parts, or any JSON; returns the message's id."""
        self.close()
        return put_result(self._outbox, self.id, content)

    def _start(self) -> None:
        self._outbox.end_text()
        self._outbox.put({"type": "TOOL_CALL_START", "toolCallId": self.id, **self._fields})
        if self._args is not None:
            args = {"type": "TOOL_CALL_ARGS", "toolCallId": self.id, "delta": self._args}
            self._outbox.put(args)

    def _end(self) -> None:
        self._outbox.close({"type": "TOOL_CALL_END", "toolCallId": self.id})


def put_result(outbox: Outbox, tool_call_id: str, content: Any) -> str:
    """Emit a TOOL_CALL_RESULT; a list of content parts is sent as it is, other JSON as text."""
    parts = isinstance(content, list) and all(
        isinstance(part, dict) and "type" in part for part in content
    )
    message_id = new_id()
    event = {
        "type": "TOOL_CALL_RESULT",
        "messageId": message_id,
        "toolCallId": tool_call_id,
        "content": content if parts and content else as_text(content),
        "role": "tool",
    }
    outbox.end_text()
    outbox.put(frozen(event))
    return message_id


class Step(Span):
    """A labelled part of the work; one left by an exception is marked as failed."""

    def __init__(self, outbox: Outbox, name: str) -> None:
        super().__init__(outbox, name)
        self._failed = False

    def _start(self) -> None:
        self._outbox.put({"type": "STEP_STARTED", "stepName": self.id})

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # A question or a cancel also leaves the block, but not by an Exception.
        self._failed = kind is not None and issubclass(kind, Exception)
        super().__exit__(kind)

    def _end(self) -> None:
        failed = {"metadata": {"status": "failed"}} if self._failed else {}
        self._outbox.close({"type": "STEP_FINISHED", "stepName": self.id, **failed})


class Reasoning(Span):
    """A span of reasoning with one message that is being written."""

    def write(self, delta: str) -> None:
        """Send a piece of the reasoning."""
        event = {"type": "REASONING_MESSAGE_CONTENT", "messageId": self.id, "delta": delta}
        self._put_inside(event)

    def _start(self) -> None:
        self._outbox.end_text()
        self._outbox.put({"type": "REASONING_START", "messageId": self.id})
        self._outbox.put(
            {"type": "REASONING_MESSAGE_START", "messageId": self.id, "role": "reasoning"}
        )

    def _end(self) -> None:
        self._outbox.close({"type": "REASONING_MESSAGE_END", "messageId": self.id})
        self._outbox.close({"type": "REASONING_END", "messageId": self.id})


class Activity:
    """An activity message; it has no end."""

    def __init__(self, outbox: Outbox, id: str | None, kind: str, content: dict[str, Any]) -> None:
        self.id = id or new_id()
        self._outbox = outbox
        self._kind = kind
        outbox.end_text()
        self.update(content)

    def update(self, change: dict[str, Any] | list[dict[str, Any]]) -> None:
        """A dict is the new content; a list is a JSON Patch on the old one."""
        event: dict[str, Any] = {"messageId": self.id, "activityType": self._kind}
        if isinstance(change, list):
            event = {"type": "ACTIVITY_DELTA", **event, "patch": change}
        else:
            event = {"type": "ACTIVITY_SNAPSHOT", **event, "content": change}
        self._outbox.put(frozen(event))
