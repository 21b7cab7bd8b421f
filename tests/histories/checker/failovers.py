"""Failovers: under an asynchronous standby what was acknowledged before them may be gone."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .lines import Line

Key = tuple[str, str | None]
"""A reader and a run; of a reader of the feed no run."""
GONE = {"start": {"run": None}, "batch": {"status": None}, "answer": {"status": None, "run": None}}
"""By kind: what an acknowledgement is like whose transaction is gone: a lost answer."""


@dataclass
class Failovers:
    """``last`` is the number of the last asynchronous failover's line, 0 without any."""

    last: int = 0
    resets: dict[Key, int] = field(default_factory=dict)
    """By reader: the number of the line of its last reset."""
    ends: dict[Key, int] = field(default_factory=dict)
    """By reader: the number of the line with which it stopped."""

    @classmethod
    def of(cls, lines: Iterable[Line]) -> "Failovers":
        these = cls()
        for number, line in enumerate(lines, 1):
            match line:
                case {"kind": "failover", "standby": "asynchronous"}:
                    these.last = number
                case {"kind": "reset", "reader": reader, "run": run}:
                    these.resets[reader, run] = number
                case {"kind": "end" | "leave", "reader": reader, "run": run}:
                    these.ends.setdefault((reader, run), number)
        return these

    def excuses(self, number: int, key: Key) -> bool:
        """Whether the log may differ from what the reader was shown on this line.

        It was told so later, or had everything that there was before history went back.
        """
        if not self.last:
            return False
        return number < self.resets.get(key, 0) or self.ends.get(key, self.last) < self.last

    def owed(self, lines: Iterable[Line], runs: dict[str, Line]) -> Iterator[Line]:
        """The lines; acknowledgements that a failover may have undone are lost answers."""
        for number, line in enumerate(lines, 1):
            if number > self.last:
                yield line
                continue
            match line["kind"]:
                case "start" | "answer" if line["run"] in runs or line["run"] is None:
                    yield line
                case "start" | "batch" | "answer" as kind:
                    yield {**line, **GONE[kind]}
                case "delivery":
                    yield {**line, "excused": True}
                case "text":
                    pass
                case _:
                    yield line
