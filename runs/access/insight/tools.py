"""The figures of a team's tools: exact, of the counted days and of the calls of all others."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count, Func, Q, QuerySet, SmallIntegerField

from agui_host.backends.postgres import clock
from agui_host.runtimes.models import Agent
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.access.insight import calls
from runs.access.insight.visibility import owners, to_reader
from runs.access.usage import figures
from runs.access.usage.figures import DAY, day_of
from runs.lifecycle.usage import sums
from runs.models import Called, ToolCall, ToolChange, Visibility

MOST = 200
STORED = """
select name, agent_id, sum(calls), sum(failed), sum(doubles)
  from runs_toolday
 where team_id = %(team)s and day = any (%(days)s) and owner = any (%(owners)s)
   and agent_id is not null
 group by 1, 2
"""
STORED_TOOK = """
select name, bucket, sum(number)
  from runs_toolday cross join unnest(buckets, counts) as part (bucket, number)
 where team_id = %(team)s and day = any (%(days)s) and owner = any (%(owners)s)
   and agent_id is null
 group by 1, 2
"""


class Bucket(Func):
    """The bucket of a duration, as the usage of a team has them."""

    template = sums.BUCKET.format(took="%(expressions)s")
    output_field = SmallIntegerField()


@dataclass(slots=True)
class Tool:
    """The figures of a tool, with the slugs of the agents that called it."""

    name: str
    calls: int = 0
    failed: int = 0
    doubles: int = 0
    agents: list[str] = field(default_factory=list)
    took: dict[int, int] = field(default_factory=dict)

    @property
    def p50(self) -> float | None:
        return figures.percentile(self.took, 0.5)

    @property
    def p95(self) -> float | None:
        return figures.percentile(self.took, 0.95)


ORDERS: dict[str, Callable[[Tool], float]] = {
    "calls": lambda tool: tool.calls,
    "failed": lambda tool: tool.failed,
    "doubles": lambda tool: tool.doubles,
    "p50": lambda tool: tool.p50 or 0,
    "p95": lambda tool: tool.p95 or 0,
}
"""The columns by which tools are sorted, the largest first."""


class Sums:
    """Adds up the figures of tools."""

    def __init__(self, slugs: Mapping[UUID, str]) -> None:
        self.slugs = slugs
        self.tools: dict[str, Tool] = {}

    def add(self, rows: Iterable[tuple[str, UUID, int, int, int]]) -> None:
        """Rows of name, agent, calls, failed calls and doubles."""
        for name, agent, number, failed, doubles in rows:
            tool = self.tools.setdefault(name, Tool(name))
            tool.calls += number
            tool.failed += failed
            tool.doubles += doubles
            if (slug := self.slugs.get(agent, "")) not in tool.agents:
                tool.agents.append(slug)

    def add_took(self, rows: Iterable[tuple[str, int, int]]) -> None:
        """Rows of name, bucket and calls; after ``add``."""
        for name, bucket, number in rows:
            if (tool := self.tools.get(name)) is not None:  # first called since the last line
                tool.took[bucket] = tool.took.get(bucket, 0) + number

    def count(self, principal: Principal, rows: QuerySet[ToolCall]) -> None:
        """Count these calls."""
        # Two small tables, each read from the index alone, in place of one that has to be sorted.
        counted = rows.order_by().values("name", "agent_id").annotate(
            calls=Count("at"),
            failed=Count("at", filter=Q(status=Called.ERROR)),
            doubles=Count("at", filter=~Q(double="") & to_reader(principal, whole=True)),
        )  # fmt: skip
        self.add(counted.values_list("name", "agent_id", "calls", "failed", "doubles"))
        took = (
            rows.order_by().filter(took_ms__isnull=False).values("name", bucket=Bucket("took_ms"))
        )
        self.add_took(took.annotate(calls=Count("at")).values_list("name", "bucket", "calls"))

    def first(self, order: str) -> list[Tool]:
        """The first tools of this order."""
        key = ORDERS[order]
        first = sorted(self.tools.values(), key=lambda tool: (-key(tool), tool.name))[:MOST]
        for tool in first:
            tool.agents.sort()
        return first


def by_tool(principal: Principal, since: datetime, order: str = "calls") -> list[Tool]:
    """The figures of each tool, sorted by one of ``ORDERS``. Raises Forbidden."""
    result = Sums(dict(Agent.objects.for_team(principal.team).values_list("pk", "slug")))
    rows = calls.visible(principal).filter(at__gte=since)
    mine = owners(principal)
    if mine is None:
        result.count(principal, rows)
        return result.first(order)
    days = _counted_days(principal, since)
    _add_stored(result, principal, days, mine)
    for begin, end in _between(since, days):
        some = rows.filter(owner__in=mine, at__gte=begin)
        result.count(principal, some if end is None else some.filter(at__lt=end))
    if _has_others(principal):
        result.count(principal, rows.exclude(owner__in=mine))
    return result.first(order)


def _counted_days(principal: Principal, since: datetime) -> list[date]:
    """The whole days since then that are over, and whose figures are stored."""
    first, today = day_of(since + DAY - timedelta(microseconds=1)), day_of(clock.now())
    changes = ToolChange.objects.filter(team=principal.team, day__gte=first.date())
    marked = set(changes.values_list("day", flat=True).distinct())
    every = ((first + n * DAY).date() for n in range((today - first).days))
    return [day for day in every if day not in marked]


def _add_stored(
    result: Sums, principal: Principal, days: Sequence[date], mine: Sequence[str]
) -> None:
    values: dict[str, Any] = {"team": principal.team.pk, "days": list(days), "owners": list(mine)}
    with connection.cursor() as cursor:
        cursor.execute(STORED, values)
        result.add(cursor.fetchall())
        cursor.execute(STORED_TOOK, values)
        result.add_took(cursor.fetchall())


def _between(since: datetime, days: Sequence[date]) -> list[tuple[datetime, datetime | None]]:
    """The times since then that are outside these days; the last has no end."""
    parts: list[tuple[datetime, datetime | None]] = []
    begin = since
    for day in days:
        midnight = datetime(day.year, day.month, day.day, tzinfo=since.tzinfo)
        if begin < midnight:
            parts.append((begin, midnight))
        begin = midnight + DAY
    return [*parts, (begin, None)]


def _has_others(principal: Principal) -> bool:
    """Whether a private thread, or a run of one, was shared with the caller."""
    shares, private = access.grants_to(principal), Visibility.PRIVATE
    return (
        shares.filter(thread__visibility=private).exists()
        or shares.filter(run__thread__visibility=private).exists()
    )
