"""The host's mark on snapshots: which of their content is older than the run.

It is a member of the event's ``metadata``, which for snapshots belongs to no message. The opening
STATE_SNAPSHOT has ``{"agui-host": {"inherited": true}}``. In a run that continues a conversation a
MESSAGES_SNAPSHOT has ``{"agui-host": {"own": [ids]}}``, the messages of this run; and a
STATE_SNAPSHOT of the agent, if the run began without a state, ``{"agui-host": {"inherited":
false}}``. The first run of a thread that brings no state has no marks.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

MARK = "agui-host"
INHERITED, OWN = "inherited", "own"
ASKED_AS = "askedAs"
"""The mark of a question that has another id than its agent gave it: that one."""
MARKED = frozenset({"STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"})

Wire = dict[str, Any]


class Past:
    """A thread's content before a run: enough to tell the run's own messages from the others."""

    __slots__ = ("_brought", "_calls", "_has_state", "_ids", "_opens", "_texts")

    def __init__(self, history: Iterable[Mapping[str, Any]], input: Mapping[str, Any]) -> None:
        """``history``: the thread's messages, including the messages of the run's ``input``."""
        self._ids: set[str] = set()
        self._calls: set[str] = set()
        self._texts: set[int] = set()
        self._brought = frozenset(_ids(input.get("messages")))
        self._has_state = self._opens = False
        for message in history:
            if message["id"] not in self._brought:
                self._ids.add(message["id"])
                self._calls.update(call["id"] for call in message.get("toolCalls") or ())
                if text := _text(message):
                    self._texts.add(hash(text))

    def expect_state(self) -> None:
        """The next STATE_SNAPSHOT is the host's, of the state that the run begins with."""
        self._opens = True

    def mark(self, event: Wire) -> Wire:
        """The event, changed in place if it is a snapshot: with the mark that it needs, if any."""
        if event["type"] not in MARKED:
            return event
        metadata = event.get("metadata")
        if metadata and MARK in metadata:  # only the host sets it
            del metadata[MARK]
        if self._ids and event["type"] == "MESSAGES_SNAPSHOT":
            return marked(event, {OWN: self._own(event["messages"])})
        if event["type"] == "STATE_SNAPSHOT" and self._opens:
            self._opens, self._has_state = False, True
            return marked(event, {INHERITED: True})
        if event["type"] == "STATE_SNAPSHOT" and self._ids and not self._has_state:
            return marked(event, {INHERITED: False})
        return event

    def _own(self, messages: Sequence[Mapping[str, Any]]) -> list[str]:
        brought = [at for at, message in enumerate(messages) if message["id"] in self._brought]
        turn = brought[-1] if brought else len(messages)
        return [each["id"] for at, each in enumerate(messages) if self._is_own(each, at > turn)]

    def _is_own(self, message: Mapping[str, Any], replies: bool) -> bool:
        if message["id"] in self._brought:
            return True
        # Some agents give all messages new ids whenever they send them. A message after the run's
        # input is a reply, even if the agent has said the same before.
        calls = {call["id"] for call in message.get("toolCalls") or ()}
        repeats = (not replies and hash(_text(message)) in self._texts) or calls & self._calls
        return message["id"] not in self._ids and not repeats


def _ids(messages: Any) -> Iterator[str]:
    # An input that cannot be echoed does not stop its run.
    for message in messages if messages.__class__ is list else ():
        if message.__class__ is dict and message.get("id").__class__ is str:
            yield message["id"]


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if content.__class__ is list:
        return "".join(part.get("text") or "" for part in content)
    return content if content.__class__ is str else ""


def marked(event: Wire, mark: Wire) -> Wire:
    """The event, changed in place, with this mark."""
    event["metadata"] = {**(event.get("metadata") or {}), MARK: mark}
    return event


def own(event: Mapping[str, Any], brought: Collection[str] | None) -> list[Mapping[str, Any]]:
    """The messages of a snapshot that its run has made.

    ``brought`` are those of its input. If the log does not echo that, and has no marks, the run's
    own messages are those of the last turn.
    """
    mark, messages = mark_of(event).get(OWN), event["messages"]
    if mark is not None:
        ids = set(mark)
        messages = [message for message in messages if message["id"] in ids]
    elif brought is None:
        messages = _last_turn(messages)
    return [message for message in messages if message["id"] not in (brought or ())]


def _last_turn(messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The last messages of the user, and all later ones."""
    first = len(messages)
    while first and messages[first - 1]["role"] != "user":
        first -= 1
    while first and messages[first - 1]["role"] == "user":
        first -= 1
    return messages[first:]


def mark_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The mark of a stored event; empty without one."""
    mark = (event.get("metadata") or {}).get(MARK)
    return mark if isinstance(mark, dict) else {}
