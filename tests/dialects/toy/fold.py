"""The words of a run's messages, and how it ended."""

from agui_host.protocol.schema import TERMINAL
from agui_host.protocol.wire.deltas import Part
from agui_host.protocol.wire.fold import Event, Frame


class Words:
    """A frame for each delta of a message and for the run's end."""

    def __init__(self, run: str) -> None:
        self._run = run

    def feed(self, event: Event) -> list[Frame]:
        """The frames for the next event of the log."""
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            return [{"type": "word", "text": event["delta"]}]
        return [{"type": "end", "run": self._run}] if event["type"] in TERMINAL else []

    def part(self, event: Event) -> Part | None:
        """None: each delta is fed."""
        return None
