"""Seams: a character that an agent cut in two, put together again.

Agents that cut their text at UTF-16 units send the halves of an emoji in two deltas. The first
half waits for the next delta of the same message or call; no half travels alone.
"""

from typing import Any

from protocol.encoding import DELTA_IDS, clean_text, ends_open

_CONTENTS = {
    "TEXT_MESSAGE_END": "TEXT_MESSAGE_CONTENT",
    "TOOL_CALL_END": "TOOL_CALL_ARGS",
    "REASONING_MESSAGE_END": "REASONING_MESSAGE_CONTENT",
}


class Seams:
    """The halves of one run that wait: ``held`` by the type of the delta and its id."""

    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], str] = {}

    def join(self, event: dict[str, Any]) -> dict[str, Any] | None:
        """The delta with the half held before it, without the one it ends in.

        None if nothing is left of it.
        """
        kind = event["type"]
        key = kind, event[DELTA_IDS[kind]]
        delta = self.held.pop(key, "") + event["delta"]
        if ends_open(delta):
            self.held[key] = delta[-1]
            delta = delta[:-1]
            if not delta and len(event) == 3 + ("timestamp" in event):
                return None
        event["delta"] = clean_text(delta)
        return event

    def joined(self, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The same for the deltas of a batch."""
        found = [self.join(event) if event["type"] in DELTA_IDS else event for event in batch]
        return [event for event in found if event is not None]

    def flushed(self, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """``batch``, in which a half whose other half never came stands as U+FFFD."""
        found: list[dict[str, Any]] = []
        for event in batch:
            content = _CONTENTS.get(event["type"], "")
            part = event.get(DELTA_IDS.get(content, ""), "")
            if self.held.pop((content, part), ""):
                found.append({"type": content, DELTA_IDS[content]: part, "delta": "\ufffd"})
            found.append(event)
        return found
