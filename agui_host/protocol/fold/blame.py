"""Which events set a place in the state: the history of one JSON Pointer."""

from typing import Any, NamedTuple

from agui_host.protocol.pointer import steps
from agui_host.protocol.violation import Event

UNKNOWN: Any = object()
MISSING: Any = object()
SNAPSHOT = "snapshot"


class Change(NamedTuple):
    """``op`` is ``snapshot``, or the operation of a patch; ``path`` is where that took place."""

    seq: int
    op: str
    path: str
    timestamp: int | None


class Blame:
    """Feed it the STATE_SNAPSHOT and STATE_DELTA events of a log, in order.

    An operation counts if it took place at the path, above it or below it. A snapshot counts if it
    has another value there than the snapshot before it, or a patch took place there in between.
    """

    def __init__(self, path: str, before: Any = UNKNOWN) -> None:
        """``before`` is the state before the first of these events."""
        self._steps = steps(path)
        self._value = UNKNOWN if before is UNKNOWN else self._lookup(before)

    def feed(self, seq: int, event: Event) -> list[Change]:
        """The changes that this event made."""
        at = event.get("timestamp")
        if event["type"] == "STATE_SNAPSHOT":
            value = self._lookup(event["snapshot"])
            changed = self._value is UNKNOWN or value != self._value
            self._value = value
            return [Change(seq, SNAPSHOT, "", at)] if changed else []
        changes = [
            Change(seq, operation["op"], operation["path"], at)
            for operation in event["delta"]
            if operation["op"] != "test"
            and (self._touches(operation["path"]) or self._moves(operation))
        ]
        if changes:
            self._value = UNKNOWN
        return changes

    def _moves(self, operation: Any) -> bool:
        return operation["op"] == "move" and self._touches(operation["from"])

    def _touches(self, path: str) -> bool:
        other = steps(path)
        common = min(len(other), len(self._steps))
        return other[:common] == self._steps[:common]

    def _lookup(self, value: Any) -> Any:
        for name in self._steps:
            if isinstance(value, dict) and name in value:
                value = value[name]
            elif isinstance(value, list) and _is_index(name) and int(name) < len(value):
                value = value[int(name)]
            else:
                return MISSING
        return value


def _is_index(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 16
