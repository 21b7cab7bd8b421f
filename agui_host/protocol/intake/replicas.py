"""Replicas: the JSON that a run's patches change: its state, and the contents of activities."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from agui_host.protocol.deep_copy import deep_copy
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.patch import PatchFailed, Undo, completed, grown
from agui_host.protocol.sizes import CONTAINER_BYTES, ELEMENT, memory_of, weight
from agui_host.protocol.strict_json import size_of, text_of
from agui_host.protocol.violation import Event, Violation

MAX_BYTES = 10 * 1024 * 1024
TEXT_PER_VALUE, WEIGHT_PER_UNIT = 4, 16
"""Characters of JSON for each value of a state that is copied, for each unit when it is read."""
NO_TEXT = frozenset(
    {"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "STEP_STARTED", "STEP_FINISHED", "RAW", "CUSTOM"}
    | {"STATE_SNAPSHOT", "STATE_DELTA", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"}
    | {"MESSAGES_SNAPSHOT"}
)
"""Events that add no text to what readers hold, or replace it."""
OPENED = frozenset(
    {"TEXT_MESSAGE_START", "REASONING_START", "REASONING_MESSAGE_START", "TOOL_CALL_START"}
    | {"TOOL_CALL_RESULT", "STEP_STARTED", "SUBAGENT_STARTED"}
)
LONG = 1_000
"""Bytes of such an event above which its names, and what it was opened with, are counted."""
MEMORY_PER_WEIGHT = 8
"""Bytes of memory for each byte of a copied value's weight, at most."""


class Mark(NamedTuple):
    """The replicas of one moment; patches that follow change the state and the contents in it."""

    state: Any
    activities: dict[str, Any]
    sizes: tuple[int, int, int]
    flags: tuple[bool, bool, bool]
    memory: dict[str | None, int]
    opened: int


class Replicas:
    """The copies of a reader that has followed the run so far.

    An activity of an earlier run is not known here, so its patches are not checked. Together the
    replicas hold at most ``max_bytes``, plus an eighth: sizes are added up as events come, and
    measured exactly only once the sum has passed the limit. An object or array weighs
    ``CONTAINER_BYTES`` in addition to its text. Their ``memory`` is added up likewise, an upper
    bound that ``measured`` replaces; ``opened`` is that of long parts. ``work`` counts the units
    that events have cost; the caller charges them and sets it to 0.
    """

    __slots__ = (
        "_activities",
        "_added",
        "_borrowed",
        "_known",
        "_memory",
        "_most",
        "_restated",
        "_rules",
        "_undo",
        "_unstated",
        "changed",
        "opened",
        "state",
        "work",
    )

    def __init__(self, state: Any, max_bytes: int = MAX_BYTES, *, unstated: bool = False) -> None:
        """``state`` is the input's; it is copied before the first patch.

        ``unstated``: the log must get it before that.
        """
        self.state = state
        self._most = max_bytes
        self.work = self.opened = 0
        self._memory: dict[str | None, int] = {}
        self._known = self._added = self._restated = 0
        self.changed = True
        self._borrowed = True
        self._unstated = unstated
        self._undo: Undo | None = None
        self._activities: dict[str, Any] = {}
        self._rules: dict[str, Callable[[Event, int], None]] = {
            "STATE_SNAPSHOT": self._state_snapshot,
            "STATE_DELTA": self._state_delta,
            "ACTIVITY_SNAPSHOT": self._activity_snapshot,
            "ACTIVITY_DELTA": self._activity_delta,
            "MESSAGES_SNAPSHOT": self._messages_snapshot,
        }

    def take(self, event: Event, payload: bytes | str = b"") -> None:
        """Follow an event, whose JSON is ``payload``; its content becomes part of the replicas.

        Raises Violation(patch) if a patch does not apply, in which case nothing has changed. Raises
        RunFailed(EVENT_TOO_LARGE) if the replicas grow too large: the run cannot continue.
        """
        rule = self._rules.get(event["type"])
        if rule is not None:
            rule(event, memory_of(payload))
            self._added += (size := weight(payload))
            self.work += size // WEIGHT_PER_UNIT
            if self._known + self._added > self._most and self._added > self._most // 8:
                self._measure()
        elif len(payload) > LONG and event["type"] in OPENED:
            if event["type"] == "TOOL_CALL_RESULT":  # only its ids are kept
                self.opened += len(event["messageId"]) + len(event["toolCallId"])
            else:
                self.opened += memory_of(payload)

    @property
    def memory(self) -> int:
        """Bytes that the replicas and long parts take; more if they were patched."""
        return sum(self._memory.values()) + self.opened

    def measured(self) -> int:
        """The same after a look at all values; for a thread, while no event is taken."""
        self._memory = {None: memory_of(text_of(self.state))}
        for name, value in self._activities.copy().items():
            self._memory[name] = memory_of(text_of(value))
        self.work += sum(self._memory.values()) // WEIGHT_PER_UNIT
        return self.memory

    def forget(self) -> None:
        """Free all values: the run is over, and takes no event any more."""
        self.state, self._undo = {}, None
        self._activities, self._memory, self._rules = {}, {}, {}

    def before(self, event: Event) -> list[dict[str, Any]]:
        """What must come before an event: the state, before the log's first delta of it.

        Nothing if the delta does not apply: it will be mended, or refused.
        """
        if not self._unstated or event["type"] != "STATE_DELTA":
            return []
        self.work += size_of(self.state) // TEXT_PER_VALUE
        try:
            self.work += grown(deep_copy(self.state), event["delta"])[2]
        except PatchFailed as failed:
            self.work += failed.work
            return []
        return [{"type": "STATE_SNAPSHOT", "snapshot": self.state}]

    def completed(self, event: Event) -> list[dict[str, Any]]:
        """A patch that did not apply, as it does: ``add`` instead of ``replace`` where needed.

        With what must come before it; empty if that is not its fault.
        """
        field = "delta" if event["type"] == "STATE_DELTA" else "patch"
        if all(operation["op"] != "replace" for operation in event[field]):
            return []
        if field == "delta":
            patch, work = completed(self.state, event[field])
        else:
            patch, work = completed(self._activities[event["messageId"]], event[field], dict)
        self.work += work
        if patch is None:
            return []
        complete = {**event, field: patch}
        return [*self.before(complete), complete]

    def restated(self) -> dict[str, Any] | None:
        """The state as an event; None if that would not help, or was done too often.

        It does not help if the state has not changed since the last time.
        """
        if not self.changed or self._restated > 2 * self._most:
            return None
        self.changed = False
        self._restated += self._known + self._added
        return {"type": "STATE_SNAPSHOT", "snapshot": self.state}

    def mark(self) -> Mark:
        """The replicas of now. The way back is kept until ``restore`` or ``settle``."""
        self._undo = []
        sizes = self._known, self._added, self._restated
        flags = self._borrowed, self._unstated, self.changed
        activities, memory = self._activities.copy(), self._memory.copy()
        return Mark(self.state, activities, sizes, flags, memory, self.opened)

    def restore(self, mark: Mark) -> None:
        """Undo what happened since ``mark``; the work stays counted."""
        for reverse, arguments in reversed(self._undo or ()):
            reverse(*arguments)
        self.state, self._activities = mark.state, mark.activities
        self._known, self._added, self._restated = mark.sizes
        self._borrowed, self._unstated, self.changed = mark.flags
        self._memory, self.opened = mark.memory, mark.opened
        self._undo = None

    def settle(self) -> None:
        """Drop the way back."""
        self._undo = None

    def _measure(self) -> None:
        self._known = sum(map(_weight_of, (self.state, *self._activities.values())))
        self.work += self._known // WEIGHT_PER_UNIT
        self._added = 0
        if self._known > self._most:
            raise RunFailed(
                RunErrorCode.EVENT_TOO_LARGE,
                f"The run's state and activities are larger than {self._most:,} bytes.",
            )

    def _state_snapshot(self, event: Event, memory: int) -> None:
        self._unstated = False
        self._memory[None] = memory
        if event["snapshot"] is not self.state:
            self.state, self._borrowed, self.changed = event["snapshot"], False, True

    def _state_delta(self, event: Event, memory: int) -> None:
        if self._borrowed:
            self.state, self._borrowed = deep_copy(self.state), False
            self._added += (size := _weight_of(self.state))
            self.work += size // TEXT_PER_VALUE
            self._add(None, MEMORY_PER_WEIGHT * size)
        self._add(None, memory)
        self.state = self._applied(event, self.state, event["delta"])
        self.changed = True

    def _activity_snapshot(self, event: Event, memory: int) -> None:
        if event["messageId"] not in self._activities or event.get("replace") is not False:
            self._memory[event["messageId"]] = memory
            self._activities[event["messageId"]] = event["content"]

    def _activity_delta(self, event: Event, memory: int) -> None:
        known = self._activities.get(event["messageId"])
        if known is not None:
            self._add(event["messageId"], memory)
            content = self._applied(event, known, event["patch"], dict)
            self._activities[event["messageId"]] = content

    def _messages_snapshot(self, event: Event, memory: int) -> None:
        # A snapshot with activities contains all of them, in their newest form.
        activities = {m["id"]: m["content"] for m in event["messages"] if m["role"] == "activity"}
        if activities:
            self._activities = activities
            self._memory = {None: self._memory.get(None, 0), "": memory}

    def _add(self, name: str | None, memory: int) -> None:
        self._memory[name] = self._memory.get(name, 0) + memory

    def _applied(
        self, event: Event, document: Any, patch: Iterable[Event], kind: type = object
    ) -> Any:
        try:
            document, growth, work = grown(document, patch, kind, self._undo)
        except PatchFailed as failed:
            self.work += failed.work
            raise Violation("patch", f"{event['type']}: {str(failed)[:200]}.") from None
        if growth:  # copied containers weigh more than their text
            self._added += growth + CONTAINER_BYTES // 3 * work
            self._add("", growth + 2 * ELEMENT * work)
        self.work += work
        return document


def _weight_of(value: Any) -> int:
    """A value's weight: its JSON without brackets in strings, plus its containers."""
    size, containers, level = size_of(value), 0, [value]
    while level:
        part = level.pop()
        containers += 1
        if part.__class__ is dict:
            level += [each for each in part.values() if each.__class__ in (dict, list)]
        elif part.__class__ is list:
            level += [each for each in part if each.__class__ in (dict, list)]
    return size + CONTAINER_BYTES * containers
