"""The runs of a list over time: bars that lead to their part of it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast
from urllib.parse import urlencode

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import F, FloatField, Q, QuerySet
from django.db.models.functions import Cast, Extract
from django.http import QueryDict
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from agui_host.teams.tenancy import TeamQuerySet
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
# The first row is of all of them. PostgreSQL adds up: to read the rows took five times as long.
SUMS = """
with newest as materialized ({newest}),
run as (select * from newest limit %s),
reach as (select max(at) - min(at) as span from run),
steps as (
    select coalesce(min(step) filter (where span / step < %s), span / %s) as step
      from reach cross join unnest(%s::float8[]) as each (step)
     group by span)
select floor((at - %s) / step)::bigint as slot, count(*), count(*) filter (where is_failed),
       coalesce(sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)), 0)::bigint,
       coalesce(sum(cost), 0)::float8,
       1000 * (array_agg(took order by took) filter (where took is not null))
           [1 + floor(0.95 * (count(took) - 1))::int],
       max(step), (select count(*) from newest) > %s
  from run cross join steps
 group by grouping sets ((slot), ())
 order by slot nulls first
"""
BAR = (
    '<a tabindex="-1" href="?{query}" aria-label="{label}: {runs}"><title>{title}: {runs}</title>'
    '<rect class="reach" x="{x}" y="0" width="10" height="40"/>'
    '<rect x="{x}" y="{top}" width="9" height="{height}"/>{red}</a>'
)
RED = '<rect class="failed" x="{}" y="{}" width="9" height="{}"/>'


@dataclass(frozen=True, slots=True)
class Bar:
    """Runs from ``since`` until ``until``. ``narrowed`` are the other filters of their list."""

    since: datetime
    until: datetime
    narrowed: str
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
    def query(self) -> str:
        """The address of their list."""
        times = {"since": self.since.isoformat(), "until": self.until.isoformat()}
        return f"{self.narrowed}{urlencode(times)}"

    @property
    def drawn(self) -> SafeString:
        """The bar as SVG, a link to its runs. Not a template: it took eight times as long."""
        since, until = timezone.localtime(self.since), timezone.localtime(self.until)
        failed = f", {self.failed} failed" if self.failed else ""
        return format_html(
            BAR,
            query=self.query,
            label=f"{since:%Y-%m-%d %H:%M}",
            title=f"{since:%Y-%m-%d %H:%M:%S} – {until:%H:%M:%S %Z}",
            runs=f"{self.runs} run{'' if self.runs == 1 else 's'}{failed}",
            x=self.x,
            top=f"{HEIGHT - self.height:.2f}",
            height=f"{self.height:.2f}",
            red=self._red(),
        )

    def _red(self) -> str:
        if not self.failed:
            return ""
        return format_html(RED, self.x, f"{HEIGHT - self.red:.2f}", f"{self.red:.2f}")


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

    @property
    def drawn(self) -> SafeString:
        """The bars that have runs."""
        return format_html_join("", "{}", ((bar.drawn,) for bar in self.bars if bar.runs))


def of(
    runs: QuerySet[Run], order: tuple[str, ...], query: QueryDict, *, whole: bool = True
) -> Histogram | None:
    """The histogram of a list with these filters; None for a short one.

    ``whole``: these are all runs of the list.
    """
    rows = runs.order_by(*order).annotate(
        at=Cast(Extract("created_at", "epoch"), FloatField()),
        is_failed=Q(status=Status.FAILED),
        took=Cast(Extract(F("ended_at") - F("started_at"), "epoch"), FloatField()),
    )
    columns = ("at", "is_failed", "took", "tokens_in", "tokens_out", "cost")
    counted = cast("TeamQuerySet[Run]", rows.values_list(*columns)[: MOST + 1])
    try:
        newest, params = counted.as_statement()
    except EmptyResultSet:
        return None
    with connection.cursor() as cursor:
        bounds = (MOST, BARS - 1, BARS - 2, list(STEPS), START, MOST)
        cursor.execute(SUMS.format(newest=newest), (*params, *bounds))
        whole_list, *slots = cursor.fetchall()
    _, number, failed, tokens, cost, most_took, step, more = whole_list
    if number < FEWEST:
        return None
    counts = {slot: (total, red) for slot, total, red, *_ in slots}
    highest = max(total for total, _ in counts.values())
    first, last, bars = min(counts), max(counts), []
    narrowed = _narrowed(query)
    for slot in range(first, last + 1):
        since, until = (_moment(START + step * each) for each in (slot, slot + 1))
        total, red = counts.get(slot, (0, 0))
        bars.append(Bar(since, until, narrowed, 10 * (slot - first), total, red, highest))
    return Histogram(bars, number, failed, whole and not more, tokens, cost, most_took)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _narrowed(query: QueryDict) -> str:
    """The filters without times, for times to follow."""
    own = query.copy()
    for name in ("since", "until"):
        own.pop(name, None)
    return f"{own.urlencode()}&" if own else ""
