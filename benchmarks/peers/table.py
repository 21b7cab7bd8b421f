"""The table: what was measured, beside what it is compared with, and the bounds of the ratio."""

import operator
import statistics
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """One measure of this host and, in turns, of a peer; their medians' ratio has two bounds.

    ``of_ours``: the bounds are those of our own value. ``at_most``: less is better. A row without
    ``must`` is for information.
    """

    name: str
    unit: str
    peer: str = ""
    must: float | None = None
    aim: float | None = None
    at_most: bool = False
    of_ours: bool = False
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    @property
    def figure(self) -> float:
        """What the bounds are for."""
        own = statistics.median(self.ours)
        return own if self.of_ours else own / statistics.median(self.theirs)

    @property
    def verdict(self) -> str:
        """Which bound is reached."""
        if self.must is None or self.aim is None:
            return ""
        reaches = operator.le if self.at_most else operator.ge
        if reaches(self.figure, self.aim):
            return "aim"
        return "must" if reaches(self.figure, self.must) else "MISSED"

    @property
    def line(self) -> str:
        """The row as text."""
        theirs = f"{statistics.median(self.theirs):>10,.1f}"
        sign = "<=" if self.at_most else ">="
        bounds = f"{sign} {self.must:<5g} {sign} {self.aim:<5g}" if self.must else f"{'':>17}"
        ratio = f"{statistics.median(self.ours) / statistics.median(self.theirs):>8.2f}"
        own = f"{statistics.median(self.ours):>10,.1f}"
        return f"{self.name:<46} {own} {theirs} {self.unit:<8} {ratio}  {bounds} {self.verdict}"

    def as_json(self) -> dict[str, Any]:
        """The row with every single value."""
        return {
            "name": self.name, "unit": self.unit, "peer": self.peer, "host": self.ours,
            "other": self.theirs, "figure": round(self.figure, 4), "must": self.must,
            "aim": self.aim, "at_most": self.at_most, "verdict": self.verdict,
        }  # fmt: skip


HEAD = f"{'':<46} {'host':>10} {'other':>10} {'':<8} {'ratio':>8}  {'must':<8} {'aim':<8}"


def lines(rows: list[Row]) -> list[str]:
    """The table as text, a block for each peer."""
    text, peer = [HEAD], ""
    for row in rows:
        if row.peer != peer:
            text.append(f"beside {row.peer}:")
            peer = row.peer
        text.append(row.line)
    return text
