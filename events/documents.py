"""Documents: the JSON that one run's patches amend: its state, and the contents of activities."""

import copy
from collections.abc import Callable, Iterable
from typing import Any

from events.patch import PatchFailed, apply
from events.violation import Event, Violation


class Documents:
    """What a reader holds who has followed the run so far.

    An activity of an earlier run is not known here, so its patches are not judged.
    """

    __slots__ = ("_activities", "_borrowed", "_rules", "changed", "state")

    def __init__(self, state: Any) -> None:
        """``state`` is the input's; it is copied before the first patch."""
        self.state = state
        self.changed = True
        self._borrowed = True
        self._activities: dict[str, Any] = {}
        self._rules: dict[str, Callable[[Event], None]] = {
            "STATE_SNAPSHOT": self._state_snapshot,
            "STATE_DELTA": self._state_delta,
            "ACTIVITY_SNAPSHOT": self._activity_snapshot,
            "ACTIVITY_DELTA": self._activity_delta,
            "MESSAGES_SNAPSHOT": self._messages_snapshot,
        }

    def take(self, event: Event) -> None:
        """Follow an event; what it carries becomes part of the documents.

        Raises Violation(patch) if a patch does not apply, and then nothing has changed.
        """
        rule = self._rules.get(event["type"])
        if rule is not None:
            rule(event)

    def restated(self) -> dict[str, Any]:
        """The state as an event. ``changed`` says whether it is another one than last time."""
        self.changed = False
        return {"type": "STATE_SNAPSHOT", "snapshot": self.state}

    def _state_snapshot(self, event: Event) -> None:
        if event["snapshot"] is not self.state:
            self.state, self._borrowed, self.changed = event["snapshot"], False, True

    def _state_delta(self, event: Event) -> None:
        if self._borrowed:
            self.state, self._borrowed = copy.deepcopy(self.state), False
        self.state = _applied(event, self.state, event["delta"])
        self.changed = True

    def _activity_snapshot(self, event: Event) -> None:
        if event["messageId"] not in self._activities or event.get("replace") is not False:
            self._activities[event["messageId"]] = event["content"]

    def _activity_delta(self, event: Event) -> None:
        known, patch = self._activities.get(event["messageId"]), event["patch"]
        if known is None:
            return
        if any(operation["path"] == "" for operation in patch):
            # It may put something else in the place of the object, which an activity has to be.
            known = copy.deepcopy(known)
        content = _applied(event, known, patch)
        if content.__class__ is not dict:
            raise Violation("patch", "ACTIVITY_DELTA: the content would not be an object any more.")
        self._activities[event["messageId"]] = content

    def _messages_snapshot(self, event: Event) -> None:
        """A list that carries activities carries all of them, in their newest form."""
        found = {m["id"]: m["content"] for m in event["messages"] if m["role"] == "activity"}
        if found:
            self._activities = found


def _applied(event: Event, document: Any, patch: Iterable[Event]) -> Any:
    try:
        return apply(document, patch)
    except PatchFailed as failed:
        raise Violation("patch", f"{event['type']}: {str(failed)[:200]}.") from None
