"""A row of small bars, drawn by the server."""

from collections.abc import Sequence
from dataclasses import dataclass

HEIGHT = 24
STEP = 8


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, from the ground up; the lower part of it is the failures."""

    x: int
    height: float
    red: float

    @property
    def top(self) -> float:
        return HEIGHT - self.height

    @property
    def red_top(self) -> float:
        return HEIGHT - self.red


@dataclass(frozen=True, slots=True)
class Spark:
    """Bars for runs, the oldest first."""

    runs: Sequence[int]
    failed: Sequence[int]

    @property
    def bars(self) -> list[Bar]:
        """The bars that can be seen; a single run is two pixels high."""
        highest = max(self.runs, default=0)
        bars = []
        for place, (runs, failed) in enumerate(zip(self.runs, self.failed, strict=True)):
            if runs > 0:
                height = max(2.0, HEIGHT * runs / highest)
                red = max(1.5, height * failed / runs) if failed else 0.0
                bars.append(Bar(STEP * place, round(height, 2), round(red, 2)))
        return bars

    @property
    def width(self) -> int:
        return STEP * len(self.runs) - 1

    @property
    def words(self) -> str:
        """The numbers, for people who do not see the bars."""
        return ", ".join(map(str, self.runs))
