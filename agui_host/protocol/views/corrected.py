"""A log as it reads after its newest MESSAGES_SNAPSHOT, for readers who add up its events.

Text that a later snapshot corrects or redacts is in no answer and in no replay: its first piece has
the new text, and the other pieces are empty. Removed parts are not there. Each event is replaced by
one event, so positions do not change. Readers of AG-UI get the stored log, with its snapshots.
"""

import json
from collections.abc import Mapping
from typing import Any

from agui_host.protocol.encoding import encode, type_of
from agui_host.protocol.fold.account import (
    CORRECTION,
    FOLLOWED,
    RESULT,
    SNAPSHOT,
    WHOLE,
    Account,
    same_arguments,
)
from agui_host.protocol.part_kinds import CALL, STREAMED, TEXT, THOUGHT
from agui_host.protocol.schema import TERMINAL

Event = Mapping[str, Any]
Wire = dict[str, Any]
Key = tuple[str, str]
MOST_ARGUMENTS = 8 * 1024 * 1024
"""Characters of the arguments of one log that are compared with those of its snapshots.

A snapshot of a log with more corrects them whether or not it differs.
"""
PIECE = 64
"""A piece of arguments' cost in addition to its characters."""
ALWAYS = 1 << 62
_TYPES = frozenset(kind.encode() for kind in FOLLOWED)


class Corrections:
    """The corrections by one log's snapshots; feed it all of the log, or at least ``FOLLOWED``."""

    def __init__(self) -> None:
        self._account = Account()
        self._arguments: dict[str, list[str]] = {}
        self._room = MOST_ARGUMENTS
        self._made: dict[Key, tuple[int, Any]] = {}
        self._has_ended = False

    def feed(self, seq: int, event: Event) -> None:
        """Take the next event, and its number."""
        kind = event["type"]
        self._has_ended = kind in TERMINAL
        if kind != SNAPSHOT:
            self._account.take(event)
            self._remember(event)
            return
        for made in self._account.restate(event):
            if made["type"] == CORRECTION and not self._repeats(made):
                self._made[made["kind"], made["id"]] = seq, made["content"]
            elif made["type"] in (CALL.start, CALL.content):
                self._remember(made)

    def entries(self) -> dict[Key, tuple[int, Any]]:
        """For each part that is corrected: its text now, and since which event.

        A part that was open in the newest snapshot without it is gone with the end of the log;
        until then a later one can have it.
        """
        dropped = self._account.open_and_dropped() if self._has_ended else ()
        return {**self._made, **dict.fromkeys(dropped, (ALWAYS, None))}

    def _remember(self, event: Event) -> None:
        if event["type"] == CALL.start:
            self._arguments.setdefault(event["toolCallId"], [])
        elif event["type"] == CALL.content and self._room > 0:
            self._room -= len(event["delta"]) + PIECE
            self._arguments.setdefault(event["toolCallId"], []).append(event["delta"])

    def _repeats(self, made: Event) -> bool:
        """Whether a snapshot has the same arguments in other words: with other white space."""
        if made["kind"] != CALL.start:
            return False
        before, now = "".join(self._arguments.pop(made["id"], ())), made["content"]
        if now is None or self._room <= 0:
            return False
        # The newest text of each call: comparing costs no more than reading the snapshots.
        self._arguments[made["id"]] = [now]
        return same_arguments(before, now)


class Corrected:
    """One reader's view of a log; feed it every event from the first, in order."""

    def __init__(self, entries: Mapping[Key, tuple[int, Any]]) -> None:
        self._entries = entries
        self._last = max((since for since, _ in entries.values()), default=0)
        self._seq = 0
        self._placed: set[Key] = set()
        self._whole = True

    def without_whole(self) -> "Corrected":
        """For readers that know no ``WHOLE``: they find such arguments in the snapshot."""
        self._whole = False
        return self

    def see(self, stored: bytes) -> bytes:
        """The wire JSON of the next event; most are unchanged, and are not parsed."""
        self._seq += 1
        kind = type_of(stored)
        if self._seq > self._last or (kind and kind not in _TYPES):
            return stored
        event = json.loads(stored)
        visible = self._shown(event)
        return stored if visible is event else encode(visible)

    def show(self, event: Event) -> Event:
        """The same for an event that is parsed already."""
        self._seq += 1
        return event if self._seq > self._last else self._shown(event)

    def _shown(self, event: Event) -> Event:
        if event["type"] == SNAPSHOT:
            messages = [now for each in event["messages"] if (now := self._message(each))]
            return {**event, "messages": messages}
        kind = _PARTS.get(event["type"])
        if kind is None:
            return event
        start, field, content = kind
        key = (start, event[field])
        since, now = self._entries.get(key, (0, None))
        if start == RESULT and self._is_gone(CALL.start, event[field]):
            return _nothing(event)
        if self._seq >= since:
            return event
        if now is None:
            return _nothing(event)
        if event["type"] == RESULT:
            return {**event, "content": now}
        if event["type"] == CALL.end and now and self._whole and key not in self._placed:
            return {**event, "type": WHOLE, "delta": now}
        if event["type"] != content:
            return event
        if key in self._placed:
            return {**event, "delta": ""}
        self._placed.add(key)
        return {**event, "delta": now}

    def _is_gone(self, kind: str, key: str) -> bool:
        since, now = self._entries.get((kind, key), (0, None))
        return self._seq < since and now is None

    def _message(self, message: Event) -> Event | None:
        """A message of an earlier snapshot, or of the newest that left out the call of a result."""
        role = message["role"]
        kind = RESULT if role == "tool" else THOUGHT.start if role == "reasoning" else TEXT.start
        key = message.get("toolCallId", message["id"])
        since, now = self._entries.get((kind, key), (0, None))
        until = since + (role == "tool")
        if self._seq < until and now is None and not message.get("toolCalls"):
            return None
        changed: Wire = {"content": now or ""} if self._seq < since else {}
        if message.get("toolCalls"):
            calls = [self._call(call) for call in message["toolCalls"]]
            changed["toolCalls"] = [call for call in calls if call is not None]
        return {**message, **changed} if changed else message

    def _call(self, call: Event) -> Event | None:
        since, now = self._entries.get((CALL.start, call["id"]), (0, None))
        if self._seq >= since:
            return call
        if now is None:
            return None
        return {**call, "function": {**call["function"], "arguments": now}}


def _nothing(event: Event) -> Wire:
    envelope = {name: event[name] for name in ("timestamp",) if name in event}
    return {"type": "RAW", "event": {}, **envelope}


_PARTS = {name: (kind.start, kind.key, kind.content) for kind in STREAMED for name in kind[1:]} | {
    RESULT: (RESULT, "toolCallId", "")
}
