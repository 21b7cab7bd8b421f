"""A row of small bars, drawn by the server."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.safestring import SafeString

HEIGHT = 24
STEP = 8
"""From a bar to the next one, with a pixel between them."""
DRAWN = (
    '<svg class="spark" viewBox="0 0 {} 24" preserveAspectRatio="none" role="img"'
    ' aria-label="Runs by day: {}"><path d="{}"/>{}</svg>'
)


@dataclass(frozen=True, slots=True)
class Spark:
    """Bars for runs, the oldest first."""

    runs: Sequence[int]
    failed: Sequence[int]

    @property
    def has_bars(self) -> bool:
        """Whether there is a run to draw."""
        return any(self.runs)

    @property
    def drawn(self) -> SafeString:
        """The bars that can be seen, and their lower parts, the failures, as SVG.

        A single run is two pixels high. Not a template: a page has hundreds of bars.
        """
        highest = max(self.runs, default=0)
        bars, red = [], []
        for place, (runs, failed) in enumerate(zip(self.runs, self.failed, strict=True)):
            if runs > 0:
                height = max(2.0, HEIGHT * runs / highest)
                bars.append(_bar(place, height))
                if failed:
                    red.append(_bar(place, max(1.5, height * failed / runs)))
        failures = format_html('<path class="failed" d="{}"/>', "".join(red)) if red else ""
        # The words are for people who do not see the bars.
        words, width = ", ".join(map(str, self.runs)), STEP * len(self.runs) - 1
        return format_html(DRAWN, width, words, "".join(bars), failures)


def _bar(place: int, height: float) -> str:
    return f"M{STEP * place} {HEIGHT}v-{height:.4g}h{STEP - 1}v{height:.4g}z"
