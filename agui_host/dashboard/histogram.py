"""The runs of a list over time: bars that lead to their part of it."""

from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import F, FloatField, Q, QuerySet
from django.db.models.functions import Cast, Extract
from django.http import QueryDict

from runs.models import Run, Status

MOST = 2_500
"""Only so many of the newest runs are counted."""
FEWEST = 10
"""Fewer runs can be seen at a glance."""
BARS = 60
HEIGHT = 40
STEPS = (1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86_400, 7 * 86_400)
"""Seconds. Bars begin at whole steps from START, a Monday."""
START = datetime(2024, 1, 1, tzinfo=UTC).timestamp()


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
    """``complete``: all runs of the list are counted, not only the newest.

    ``tokens``, in and out, and ``cost`` in US dollars are the sums of the agents' reports;
    ``most_took`` is how long 95 % of the ended runs took at most, in milliseconds, or None.
    """

    bars: list[Bar]
    runs: int
    failed: int
    complete: bool
    tokens: int = 0
    cost: float = 0.0
    most_took: float | None = None

    @property
    def width(self) -> int:
        return 10 * len(self.bars)


def of(
    runs: QuerySet[Run], order: tuple[str, ...], query: QueryDict, *, whole: bool = True
) -> Histogram | None:
    """The histogram of a list with these filters; None for a short one.

    ``whole``: these are all runs of the list.
    """
    rows = list(
        runs.order_by(*order)
        .annotate(at=Cast(Extract("created_at", "epoch"), FloatField()))
        .annotate(is_failed=Q(status=Status.FAILED))
        .annotate(took=Cast(Extract(F("ended_at") - F("started_at"), "epoch"), FloatField()))
        .values_list("at", "is_failed", "took", "tokens_in", "tokens_out", "cost")[: MOST + 1]
    )
    complete, rows = whole and len(rows) <= MOST, rows[:MOST]
    if len(rows) < FEWEST:
        return None
    times = [row[0] for row in rows]
    first, span = min(times), max(times) - min(times)
    step = next((step for step in STEPS if span / step < BARS - 1), span / (BARS - 2))
    start = START + step * ((first - START) // step)
    counts: dict[int, list[int]] = {}
    for at, is_failed, *_ in rows:
        count = counts.setdefault(int((at - start) // step), [0, 0])
        count[0] += 1
        count[1] += is_failed
    highest = max(count for count, _ in counts.values())
    bars = []
    for number in range(max(counts) + 1):
        since, until = (_moment(start + step * each) for each in (number, number + 1))
        total, failed = counts.get(number, [0, 0])
        own = _query(query, since, until)
        bars.append(Bar(since, until, own, 10 * number, total, failed, highest))
    tokens = sum((read or 0) + (written or 0) for *_, read, written, _ in rows)
    cost = sum(row[-1] or 0 for row in rows)
    spans = sorted(row[2] for row in rows if row[2] is not None)
    most_took = 1000 * spans[int(0.95 * (len(spans) - 1))] if spans else None
    failed_runs = sum(bar.failed for bar in bars)
    return Histogram(bars, len(rows), failed_runs, complete, tokens, cost, most_took)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _query(query: QueryDict, since: datetime, until: datetime) -> str:
    own = query.copy()
    own["since"], own["until"] = since.isoformat(), until.isoformat()
    return own.urlencode()
