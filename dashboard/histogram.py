"""The runs of a list over time: bars that lead to their part of it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import QuerySet
from django.http import QueryDict

from runs.models import Run, Status

MOST = 5_000
"""Only so many of the newest runs are counted."""
FEWEST = 10
"""Fewer runs can be seen at a glance."""
BARS = 60
HEIGHT = 40
STEPS = [
    timedelta(seconds=seconds)
    for seconds in (1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86_400, 7 * 86_400)
]
START = datetime(2024, 1, 1, tzinfo=UTC)
"""A Monday; bars begin at whole steps from here."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Runs from ``since`` until ``until``. ``query`` is the list of them."""

    since: datetime
    until: datetime
    query: str
    x: int
    runs: int
    failed: int
    highest: int

    @property
    def height(self) -> float:
        """Of the whole bar, at most HEIGHT; one run can be seen."""
        return max(2.0, HEIGHT * self.runs / self.highest) if self.runs else 0

    @property
    def red(self) -> float:
        """The height of the failed runs, from the ground."""
        return max(2.0, self.height * self.failed / self.runs) if self.failed else 0

    @property
    def top(self) -> float:
        return HEIGHT - self.height

    @property
    def red_top(self) -> float:
        return HEIGHT - self.red


@dataclass(frozen=True, slots=True)
class Histogram:
    """``complete``: all runs of the list are counted, not only the newest."""

    bars: list[Bar]
    runs: int
    failed: int
    complete: bool

    @property
    def width(self) -> int:
        return 10 * len(self.bars)


def of(runs: QuerySet[Run], order: tuple[str, ...], query: QueryDict) -> Histogram | None:
    """The histogram of a list with these filters; None for a short one."""
    rows = list(runs.order_by(*order).values_list("created_at", "status")[: MOST + 1])
    complete, rows = len(rows) <= MOST, rows[:MOST]
    if len(rows) < FEWEST:
        return None
    times = [at for at, _ in rows]
    first, last = min(times), max(times)
    step = next((step for step in STEPS if (last - first) / step < BARS - 1), None)
    if step is None:
        step = (last - first) / (BARS - 2)
    start = START + step * ((first - START) // step)
    counts: dict[int, list[int]] = {}
    for at, status in rows:
        count = counts.setdefault((at - start) // step, [0, 0])
        count[0] += 1
        count[1] += status == Status.FAILED
    highest = max(count for count, _ in counts.values())
    bars = []
    for number in range(max(counts) + 1):
        since = start + step * number
        total, failed = counts.get(number, [0, 0])
        own = _query(query, since, since + step)
        bars.append(Bar(since, since + step, own, 10 * number, total, failed, highest))
    return Histogram(bars, len(rows), sum(bar.failed for bar in bars), complete)


def _query(query: QueryDict, since: datetime, until: datetime) -> str:
    own = query.copy()
    own["since"], own["until"] = since.isoformat(), until.isoformat()
    return own.urlencode()
