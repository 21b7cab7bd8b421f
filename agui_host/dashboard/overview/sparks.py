"""A row of small bars, drawn by the server."""

from collections.abc import Sequence
from dataclasses import dataclass

HEIGHT = 24
STEP = 8
"""From a bar to the next one, with a pixel between them."""


@dataclass(frozen=True, slots=True)
class Spark:
    """Bars for runs, the oldest first."""

    runs: Sequence[int]
    failed: Sequence[int]

    @property
    def paths(self) -> tuple[str, str]:
        """The bars that can be seen, and their lower parts, the failures, as paths of SVG.

        A single run is two pixels high. Not a template's loop: a page has hundreds of bars.
        """
        highest = max(self.runs, default=0)
        bars, red = [], []
        for place, (runs, failed) in enumerate(zip(self.runs, self.failed, strict=True)):
            if runs > 0:
                height = max(2.0, HEIGHT * runs / highest)
                bars.append(_bar(place, height))
                if failed:
                    red.append(_bar(place, max(1.5, height * failed / runs)))
        return "".join(bars), "".join(red)

    @property
    def width(self) -> int:
        return STEP * len(self.runs) - 1

    @property
    def words(self) -> str:
        """The numbers, for people who do not see the bars."""
        return ", ".join(map(str, self.runs))


def _bar(place: int, height: float) -> str:
    return f"M{STEP * place} {HEIGHT}v-{height:.4g}h{STEP - 1}v{height:.4g}z"
