"""The figures of the page of usage: by agent, person, model or day, and compared; the limits."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse

from agui_host.backends.postgres import clock
from agui_host.dashboard.overview.overview import address, text_of
from agui_host.teams.api import csv_cells
from agui_host.teams.authentication import Principal
from runs.access.usage import figures, limits
from runs.access.usage.figures import DAY, Period, Reach
from runs.lifecycle.chores import lags

PERIODS = (1, 7, 30, 90)
USUAL = 30
ROWS = 100
"""Rows of a page."""
LINES = 10_000
"""Rows of a file."""
WAYS = ("agent", "person", "model", "day")
NAMES = {
    "concurrent_runs": "Runs at once",
    "queued_runs": "Waiting runs",
    "runs_per_minute": "Runs per minute",
    "open_streams": "Open streams",
    "stored_bytes": "Stored events",
}
"""The limits of which the use is counted."""
NEARLY = 0.8


@dataclass(frozen=True, slots=True)
class Row:
    """The usage of an agent, a person, a model or a day.

    ``query`` are the filters of its runs; None if no list has exactly these.
    """

    name: str
    values: dict[str, Any]
    query: dict[str, str] | None

    @property
    def runs(self) -> str:
        return "" if self.query is None else address(self.query)

    @property
    def failures(self) -> str:
        return f"{runs}&status=failed" if (runs := self.runs) else ""


@dataclass(frozen=True, slots=True)
class Sums:
    """The usage of a time, with how long 95 % of its runs took at most, in milliseconds."""

    values: dict[str, Any]
    p95: float | None

    @property
    def tokens(self) -> int:
        return int(self.values["tokens_in"] + self.values["tokens_out"])

    @property
    def waited(self) -> float | None:
        """How long a run waited for a worker, on average, in milliseconds."""
        runs = self.values["runs"]
        return self.values["queued_ms"] / runs if runs else None


@dataclass(frozen=True, slots=True)
class Meter:
    """A limit and its use."""

    name: str
    used: int
    max: int | None
    is_size: bool

    @property
    def warns(self) -> int:
        """From here on the limit is near."""
        return int(NEARLY * (self.max or 0))


@dataclass(frozen=True, slots=True)
class Page:
    """A period's usage. ``hidden``: how many runs are in private threads of others."""

    days: int
    way: str
    rows: list[Row]
    total: dict[str, Any]
    query: dict[str, str]
    hidden: int
    next: int | None
    csv: str
    now: Sums
    before: Sums

    @property
    def all(self) -> Row:
        """The line below the table."""
        return Row("", self.total, self.query)

    @property
    def slower(self) -> str:
        """The address of the slowest runs."""
        took = {} if self.now.p95 is None else {"took": f">{self.now.p95 / 1000:.3f}s"}
        return address(self.query | took)


def of(principal: Principal, way: str, days: int, number: int = 1) -> Page:
    """A page of the usage of the team in the latest days, with today."""
    period = _latest(days)
    keys = figures.by({way})
    sums = figures.read(principal, keys, period, most=ROWS * number + 1)[ROWS * (number - 1) :]
    total = _sum(figures.read(principal, {"whole": "1"}, period))
    listed = _sum(figures.read(principal, {"whole": "1"}, period, listed=True))
    own = {"since": text_of(period.since)}
    rows = [Row(str(row[way]), row, _query(way, row[way], own)) for row in sums[:ROWS]]
    before = Period.before(days)
    earlier = Counter[str]()
    for part in before.parts():
        earlier.update(_sum(figures.read(principal, {"whole": "1"}, part)))
    return Page(
        days=days,
        way=way,
        rows=rows,
        total=total,
        query=own,
        hidden=total["runs"] - listed["runs"],
        next=number + 1 if len(sums) > ROWS else None,
        csv=f"?{urlencode({'by': way, 'days': days, 'format': 'csv'})}",
        now=Sums(total, _p95(principal, period)),
        before=Sums(dict.fromkeys(figures.MEASURES, 0) | earlier, _p95(principal, before)),
    )


def as_csv(principal: Principal, way: str, days: int) -> HttpResponse:
    """All rows of the table as a file."""
    rows = figures.read(principal, figures.by({way}), _latest(days), most=LINES)
    return csv_cells.as_file("usage", figures.table({way}, rows))


def meters(principal: Principal, names: Collection[str] = NAMES) -> list[Meter]:
    """The limits of the team of which the use is counted; ``names``: only these."""
    return [
        Meter(NAMES[use.name], use.used or 0, use.max, use.name == "stored_bytes")
        for use in limits.of(principal.team, NAMES.keys() & set(names))
    ]


LATE = {
    "words": "finding runs by their words",
    "outlines": "outlines of long runs",
    "purge": "deletion by retention",
    "webhooks": "webhooks",
}
"""The chores of the host, in the words of the page of limits."""


def late() -> list[str]:
    """The chores of the host that are late at present."""
    return [LATE[chore] for chore in lags.late()]


def _latest(days: int) -> Period:
    today = figures.day_of(clock.now())
    return Period(today - (days - 1) * DAY, today + DAY)


def _sum(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return rows[0] if rows else dict.fromkeys(figures.MEASURES, 0)


def _p95(principal: Principal, period: Period) -> float | None:
    return figures.percentile(figures.buckets(Reach.of(principal), period), 0.95)


def _query(way: str, value: Any, own: dict[str, str]) -> dict[str, str] | None:
    if way == "day" and isinstance(value, date):
        later = value + timedelta(days=1)
        return {"since": f"{value}T00:00Z", "until": f"{later}T00:00Z"}
    if not value and way == "model":
        return None
    return own | {"started_by" if way == "person" else way: str(value)}
