"""Seams: joins the two halves of a character that an agent split between deltas.

Agents that cut their text at UTF-16 units send the halves of an emoji in two deltas. The first half
waits for the next delta of the same message or call; it is never sent alone.
"""

from typing import Any

from agui_host.protocol.encoding import DELTA_IDS, clean_text, ends_open
from agui_host.protocol.part_kinds import STREAMED

_CONTENTS = {kind.end: kind.content for kind in STREAMED}


class Seams:
    """The waiting halves of one run: ``waiting`` by the type of the delta and its id."""

    __slots__ = ("waiting",)

    def __init__(self) -> None:
        self.waiting: dict[tuple[str, str], str] = {}

    def dump(self) -> list[list[Any]]:
        """The waiting halves, as JSON; each as its number, since no text can contain one."""
        return [[*key, ord(half)] for key, half in self.waiting.items()]

    def load(self, dumped: list[list[Any]]) -> None:
        """Take over what ``dump`` wrote."""
        self.waiting.clear()
        self.waiting.update({(kind, part): chr(half) for kind, part, half in dumped})

    def join(self, event: dict[str, Any]) -> dict[str, Any] | None:
        """The delta with the waiting half before it, and without a half at its own end.

        None if nothing is left of it.
        """
        kind = event["type"]
        key = kind, event[DELTA_IDS[kind]]
        delta = self.waiting.pop(key, "") + event["delta"]
        if ends_open(delta):
            self.waiting[key] = delta[-1]
            delta = delta[:-1]
            if not delta and len(event) == 3 + ("timestamp" in event):
                return None
        event["delta"] = clean_text(delta)
        return event

    def joined(self, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """``join`` for all deltas of a batch."""
        events = [self.join(event) if event["type"] in DELTA_IDS else event for event in batch]
        return [event for event in events if event is not None]

    def flushed(self, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """``batch`` with U+FFFD for each half that was never completed."""
        events: list[dict[str, Any]] = []
        for event in batch:
            content = _CONTENTS.get(event["type"], "")
            part = event.get(DELTA_IDS.get(content, ""), "")
            if self.waiting.pop((content, part), ""):
                events.append({"type": content, DELTA_IDS[content]: part, "delta": "\ufffd"})
            events.append(event)
        return events
