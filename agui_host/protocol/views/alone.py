"""One run alone: its log for readers who do not see the rest of its thread.

It leaves out parts older than the run: the state of the input, the state that earlier runs left,
the thread's messages in a MESSAGES_SNAPSHOT; and RAW and rawEvent, whose content is unknown. The
messages of the run's own user and the run's output remain. Each event is replaced by one event, so
positions do not change: an event of which nothing remains is there without its content. No Django,
no I/O.

Snapshots are marked (``agui_host/protocol/fold/inherited.py``). A log from before the marks shows
less: its first STATE_SNAPSHOT counts as the state from before, and of its MESSAGES_SNAPSHOTs only
messages remain that the log itself has begun.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agui_host.protocol.deep_copy import deep_copy
from agui_host.protocol.encoding import encode, type_of
from agui_host.protocol.fold.inherited import INHERITED, OWN, mark_of
from agui_host.protocol.patch import PatchFailed, apply
from agui_host.protocol.pointer import pointer, steps
from agui_host.protocol.views.before import GONE, Before, Path

Event = Mapping[str, Any]
Wire = dict[str, Any]

STATE = frozenset({"STATE_SNAPSHOT", "STATE_DELTA"})
REMEMBERED = STATE | {
    "RUN_STARTED", "TEXT_MESSAGE_START", "REASONING_MESSAGE_START", "TOOL_CALL_START",
    "TOOL_CALL_RESULT", "ACTIVITY_SNAPSHOT",
}  # fmt: skip
"""The types that affect the view of later events."""
_TYPES = frozenset(kind.encode() for kind in REMEMBERED | {"MESSAGES_SNAPSHOT", "RAW"})
_RAW_EVENT = b'"rawEvent"'


class Alone:
    """Feed it every event of a log from the first, in order, or at least those ``REMEMBERED``."""

    def __init__(self, *, begins: bool = False) -> None:
        """``begins``: the run is the first of its thread, so there is nothing from other runs."""
        self.begins = begins
        self._has_input_state = True
        self._has_snapshot = False
        self._before = Before()
        self._state: Any = {}
        self._cut: set[Path] = set()
        self._messages: set[str] = set()

    def copy(self) -> "Alone":
        """Another view at the same place of the log."""
        other = Alone(begins=self.begins)
        other._has_input_state, other._has_snapshot = self._has_input_state, self._has_snapshot
        other._before, other._state = self._before, deep_copy(self._state)
        other._cut, other._messages = set(self._cut), set(self._messages)
        return other

    def see(self, stored: bytes) -> bytes:
        """The wire JSON of the next event; most are unchanged, and are not parsed."""
        kind = type_of(stored)
        if kind and kind not in _TYPES and _RAW_EVENT not in stored:
            return stored
        event = json.loads(stored)
        visible = self.show(event)
        return stored if visible is event else encode(visible)

    def show(self, event: Event) -> Event:
        """The event as the reader gets it; the same object if nothing changes."""
        kind = event["type"]
        if "rawEvent" in event:
            event = {name: value for name, value in event.items() if name != "rawEvent"}
        match kind:
            case "RAW":
                return {**_envelope(event), "event": {}}
            case "RUN_STARTED":
                return self._started(event)
            case "STATE_SNAPSHOT":
                return self._snapshot(event)
            case "STATE_DELTA":
                return self._delta(event)
            case "MESSAGES_SNAPSHOT":
                return self._conversation(event)
            case "TOOL_CALL_START" if "parentMessageId" not in event:
                self._messages.add(event["toolCallId"])
            case "ACTIVITY_SNAPSHOT" if event.get("replace") is False:
                pass  # it can leave an earlier run's as it is
            case _ if kind in REMEMBERED and "messageId" in event:
                self._messages.add(event["messageId"])
        return event

    # --- how the run begins, and its messages

    def _started(self, event: Event) -> Event:
        body = event.get("input")
        if body is None:  # it was too large to echo
            return event
        self._has_input_state = body.get("state") not in (None, {})
        self._messages.update(message["id"] for message in body.get("messages") or ())
        return {**event, "input": {**body, "state": {}}} if self._has_input_state else event

    def _conversation(self, event: Event) -> Event:
        mark = mark_of(event).get(OWN)
        if mark is None and self.begins:
            return event
        own = self._messages.union(mark or ())
        messages = [message for message in event["messages"] if message["id"] in own]
        if len(messages) == len(event["messages"]):
            return event
        return {**event, "messages": messages}

    # --- the state

    def _snapshot(self, event: Event) -> Event:
        if not self._has_snapshot and self._is_inherited(event):
            self._before = Before(event["snapshot"])
        self._has_snapshot = True
        own, self._cut = self._before.own(event["snapshot"])
        own = {} if own is GONE else own
        self._state = deep_copy(own)
        return event if own is event["snapshot"] else {**event, "snapshot": own}

    def _is_inherited(self, event: Event) -> bool:
        mark = mark_of(event).get(INHERITED)
        if mark is None:  # nothing to inherit, or a log from before the marks
            return not self.begins or self._has_input_state
        return bool(mark)

    @property
    def _is_blind(self) -> bool:
        # Whether the run may have changed a state that the log has not shown.
        return not self._has_snapshot and (not self.begins or self._has_input_state)

    def _delta(self, event: Event) -> Event:
        if self._has_snapshot and not self._before:
            return event  # all of the state is the run's own
        operations: list[Wire] = []
        for operation in event["delta"]:
            for own in self._operations(operation):
                try:
                    self._state = apply(self._state, [own])
                except PatchFailed:
                    continue
                operations.append(own)
        return {**event, "delta": operations}

    def _operations(self, operation: Event) -> Iterator[Wire]:
        """An operation's effect on the reader's state."""
        kind, keys = operation["op"], steps(operation["path"])
        if kind == "remove":
            yield from self._removed(keys)
        elif kind in ("add", "replace"):
            yield from self._placed(keys, operation.get("value"), kind)
        elif kind in ("copy", "move"):
            source = steps(operation["from"])
            there = self._found(source)
            value = there if there is GONE else deep_copy(there)
            cut = {(*keys, *path) for path in self._cut_below(source)}
            if kind == "move":
                yield from self._removed(source)
            self._cut |= cut
            yield from self._put(keys, value, "add")

    def _placed(self, keys: list[str], value: Any, kind: str) -> Iterator[Wire]:
        if self._is_blind and value.__class__ in (dict, list) and value:
            own, cut = GONE, set[Path]()
        else:
            own, cut = self._before.own(value, keys)
        replaced = {(*keys, *path) for path in self._cut_below(keys)}
        self._cut = (self._cut - replaced) | cut
        yield from self._put(keys, own, kind)

    def _cut_below(self, keys: list[str]) -> list[Path]:
        depth, place = len(keys), tuple(keys)
        return [path[depth:] for path in self._cut if path[:depth] == place]

    def _put(self, keys: list[str], value: Any, kind: str) -> Iterator[Wire]:
        if not keys:
            yield _at("replace", keys, {} if value is GONE else value)
            return
        parent: Any = self._state
        for depth, key in enumerate(keys[:-1]):
            if parent.__class__ is dict and key not in parent:
                yield from self._with_parents(keys, depth, value)
                return
            parent = self._inside(parent, keys[:depth], key)
        if parent.__class__ is dict:
            if value is not GONE:
                yield _at("add", keys, value)
            elif keys[-1] in parent:
                yield _at("remove", keys)
        elif parent.__class__ is list:
            path = tuple(keys[:-1])
            if value is GONE:
                self._cut.add(path)
            elif keys[-1] == "-" or path not in self._cut:
                yield _at(kind, keys, value)

    @staticmethod
    def _with_parents(keys: list[str], depth: int, value: Any) -> Iterator[Wire]:
        """Add a value together with the objects around it, which held nothing of the run's own."""
        around = keys[depth + 1 :]
        if value is GONE or any(key == "-" or key.isdigit() for key in around):
            return  # it can be in an array
        for key in reversed(around):
            value = {key: value}
        yield _at("add", keys[: depth + 1], value)

    def _removed(self, keys: list[str]) -> Iterator[Wire]:
        if self._found(keys) is not GONE:
            yield _at("remove", keys) if keys else _at("replace", keys, {})

    def _found(self, keys: list[str]) -> Any:
        """The value that the reader holds at a path; GONE if it is not there, or has moved."""
        value: Any = self._state
        for depth, key in enumerate(keys):
            value = self._inside(value, keys[:depth], key)
        return value

    def _inside(self, parent: Any, path: list[str], key: str) -> Any:
        if parent.__class__ is dict:
            return parent.get(key, GONE)
        if parent.__class__ is list and key.isdigit() and tuple(path) not in self._cut:
            return parent[int(key)] if int(key) < len(parent) else GONE
        return GONE


def _at(kind: str, keys: list[str], *value: Any) -> Wire:
    operation: Wire = {"op": kind, "path": pointer(keys)}
    return {**operation, "value": value[0]} if value else operation


def _envelope(event: Event) -> Wire:
    return {name: event[name] for name in ("type", "timestamp", "subagentRunId") if name in event}
