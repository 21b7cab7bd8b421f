"""One message of a conversation, or one tool call, while events still add to it.

Growing text is kept as a list of deltas and joined when it is read: ``content += delta`` took
seconds at 100,000 deltas.
"""

from collections.abc import Mapping
from typing import Any

Event = Mapping[str, Any]
Wire = dict[str, Any]


class Call:
    """A tool call of an assistant message."""

    __slots__ = ("args", "fields", "function")

    def __init__(self, fields: Event) -> None:
        self.fields = dict(fields)
        self.function: Wire = dict(fields["function"])
        self.args: list[str] = []

    def wire(self) -> Wire:
        """The call as it appears in a message."""
        if self.args:
            self.function["arguments"] += "".join(self.args)
            self.args = []
        return self.fields | {"function": dict(self.function)}


class Message:
    """One message: ``fields`` as on the wire, without its tool calls and its latest deltas."""

    __slots__ = ("calls", "deltas", "fields", "is_activity", "shared")

    def __init__(self, fields: Event) -> None:
        self.become(fields)

    def become(self, fields: Event) -> None:
        """Replace whatever the message held with these wire fields."""
        self.fields = dict(fields)
        calls = self.fields.pop("toolCalls", None)
        self.calls: list[Call] | None = None if calls is None else [Call(call) for call in calls]
        self.deltas: list[str] = []
        # An activity's content is structured, so text is never appended to it.
        self.is_activity: bool = self.fields["role"] == "activity"
        self.shared = True  # Others can hold this content, so it is copied before it is patched.

    def wire(self) -> Wire:
        """The message as it appears in a list of messages."""
        if self.deltas:
            content = self.fields.get("content")
            if not isinstance(content, str):
                content = ""
            self.fields["content"] = content + "".join(self.deltas)
            self.deltas = []
        self.shared = True
        if self.calls is None:
            return dict(self.fields)
        return self.fields | {"toolCalls": [call.wire() for call in self.calls]}


def merge(target: Wire, event: Event) -> None:
    """Merge the event's metadata key by key; the last write wins."""
    metadata = event.get("metadata")
    if metadata is not None:
        target["metadata"] = {**(target.get("metadata") or {}), **metadata}


def only(event: Event, *keys: str) -> Wire:
    """Those of the named fields that the event has."""
    return {key: event[key] for key in keys if key in event}
