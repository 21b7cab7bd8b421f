"""A run's counts, kept while its events pass: for the columns of lists."""

from collections.abc import Iterable
from typing import Any

from agui_host.protocol.encoding import DELTA_IDS, Record


class Tally:
    """Tool calls, subagents, and ``first``: when the first piece of an answer came.

    That is a piece of text, of reasoning or of a call's arguments, in epoch seconds.
    """

    __slots__ = ("first", "subagents", "tools")

    def __init__(self) -> None:
        self.tools = self.subagents = 0
        self.first: float | None = None

    def take(self, records: Iterable[Record]) -> None:
        """Count records of the log, in their order."""
        for record in records:
            if record.type == "TOOL_CALL_START":
                self.tools += 1
            elif record.type == "SUBAGENT_STARTED":
                self.subagents += 1
            elif self.first is None and record.type in DELTA_IDS:
                self.first = record.at

    def dump(self) -> list[Any]:
        """As JSON."""
        return [self.tools, self.subagents, self.first]

    def load(self, dumped: list[Any]) -> None:
        """Take over what ``dump`` wrote."""
        self.tools, self.subagents, self.first = dumped
