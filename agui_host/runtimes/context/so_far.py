"""What earlier attempts of a run have sent, for the attempt that continues it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class SoFar:
    """``messages`` in wire form, ``calls`` by id, ``state``, and the ids of ``cut`` parts.

    A call is ``{"name", "args", "result"}``, its ``args`` text, ``result`` None without any. The
    last attempt had begun the parts in ``cut``, and the host has closed them. ``before`` and
    ``state_before`` are the messages and the state with which the run began.
    """

    messages: Sequence[Mapping[str, Any]] = ()
    calls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    state: Any = None
    cut: Sequence[str] = ()
    before: Sequence[Mapping[str, Any]] = ()
    state_before: Any = None

    def has(self, id: str) -> bool:
        """Whether a message or a call with this id was sent to its end."""
        is_there = id in self.calls or any(each.get("id") == id for each in self.messages)
        return is_there and id not in self.cut

    def finished(self) -> Sequence[Mapping[str, Any]]:
        """The messages up to the last tool result with which no call is left without one."""
        waiting: set[Any] = set()
        length = 0
        for number, message in enumerate(self.messages, 1):
            waiting |= {call["id"] for call in message.get("toolCalls") or ()}
            if message.get("role") == "tool" and message.get("toolCallId") not in self.cut:
                waiting.discard(message.get("toolCallId"))
                length = length if waiting else number
        return self.messages[:length]

    def message(self, id: str) -> Mapping[str, Any] | None:
        """The message with this id, as far as it was sent."""
        return next((each for each in self.messages if each.get("id") == id), None)


def of_messages(
    messages: Sequence[Mapping[str, Any]],
    state: Any,
    cut: Sequence[str],
    before: Sequence[Mapping[str, Any]] = (),
    state_before: Any = None,
) -> SoFar:
    """From a run's messages, with those of its input (``before``) left out."""
    results = {
        message.get("toolCallId"): message.get("content")
        for message in messages
        if message.get("role") == "tool"
    }
    calls = {
        call["id"]: {
            "name": call["function"]["name"],
            "args": call["function"]["arguments"],
            "result": results.get(call["id"]),
        }
        for message in messages
        for call in message.get("toolCalls") or ()
    }
    return SoFar(messages, calls, state, cut, before, state_before)
