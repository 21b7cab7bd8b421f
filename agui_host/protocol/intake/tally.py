"""A run's counts, kept while its events pass: for the columns of lists."""

from collections.abc import Iterable, Mapping
from typing import Any

from agui_host.protocol.encoding import DELTA_IDS, Record
from agui_host.protocol.fold.face import Answered
from agui_host.protocol.part_kinds import TEXT


class Tally:
    """Tool calls, subagents, and ``first``: when the first piece of an answer came.

    That is a piece of text, of reasoning or of a call's arguments, in epoch seconds. ``answered``
    follows the agent's texts.
    """

    __slots__ = ("answered", "first", "subagents", "tools")

    def __init__(self) -> None:
        self.tools = self.subagents = 0
        self.first: float | None = None
        self.answered = Answered()

    def piece(self, kind: str, name: str, text: str, at: float) -> None:
        """Take a delta of an open part that is called ``name``."""
        if self.first is None:
            self.first = at
        if name == self.answered.reading and kind == TEXT.content:
            self.answered.hear(text)

    def take(self, records: Iterable[Record], events: Iterable[Mapping[str, Any]]) -> None:
        """Count records of the log and the events that they were made of, in their order."""
        for event in events:
            self.answered.follow(event)
        for record in records:
            if record.type == "TOOL_CALL_START":
                self.tools += 1
            elif record.type == "SUBAGENT_STARTED":
                self.subagents += 1
            elif self.first is None and record.type in DELTA_IDS:
                self.first = record.at

    def dump(self) -> list[Any]:
        """The counts as JSON."""
        return [self.tools, self.subagents, self.first]

    def load(self, dumped: list[Any]) -> None:
        """Take over what ``dump`` wrote."""
        self.tools, self.subagents, self.first = dumped
