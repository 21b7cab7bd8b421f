"""The figures of a team's overview: the latest days, compared with as many before them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from agui_host import links
from agui_host.backends.postgres import clock
from agui_host.dashboard.overview.sparks import Spark
from agui_host.runtimes.models import Agent
from agui_host.teams.authentication import Principal
from runs.access import inbox
from runs.access.usage import figures
from runs.access.usage.figures import DAY, Period
from runs.models import Status

PERIODS = (1, 7, 30)
"""Days, with today."""
USUAL = 7
MOST = 50
"""Agents of the page, and people."""
MOST_KINDS = 10
MEASURES = ("runs", "failed", "tokens_in", "tokens_out", "cost")


@dataclass(slots=True)
class Sums:
    """Sums over runs."""

    runs: int = 0
    failed: int = 0
    tokens: int = 0
    cost: float = 0.0

    def add(self, row: dict[str, Any]) -> None:
        """Add a row of the usage."""
        self.runs += row["runs"]
        self.failed += row["failed"]
        self.tokens += row["tokens_in"] + row["tokens_out"]
        self.cost += row["cost"]


@dataclass(slots=True)
class Line:
    """An agent, a person or a kind of failure, with its figures; ``runs`` is their list."""

    name: str
    label: str
    runs: str
    sums: Sums = field(default_factory=Sums)
    before: Sums = field(default_factory=Sums)
    days: list[Sums] = field(default_factory=list)
    p95: float | None = None
    p95_before: float | None = None

    @property
    def failures(self) -> str:
        """The address of the list of its failed runs."""
        return f"{self.runs}&status={Status.FAILED.value}"

    @property
    def spark(self) -> Spark:
        return Spark([day.runs for day in self.days], [day.failed for day in self.days])


@dataclass(frozen=True, slots=True)
class Overview:
    """All of the page. ``hidden`` are runs in private threads of other people."""

    days: int
    since: datetime
    total: Line
    hidden: Sums
    agents: list[Line]
    people: list[Line]
    kinds: list[Line]
    waiting: int
    most_waiting: int
    slower: str
    quiet_agents: int

    @property
    def more_waiting(self) -> bool:
        return self.waiting >= self.most_waiting


def address(query: dict[str, str]) -> str:
    """The address of a list of runs."""
    return f"{links.page('runs')}?{urlencode(query)}"


def of(principal: Principal, days: int) -> Overview:
    """The overview of the visitor's team, of the runs that their list shows."""
    now = clock.now()
    since = figures.day_of(now) - (days - 1) * DAY
    period = Period(since - days * DAY, figures.day_of(now) + DAY)
    before = Period.before(days)
    own = {"since": text_of(since)}
    total, hidden = Line("", "", address(own)), Sums()
    agents: dict[str, Line] = {}
    people: dict[str, Line] = {}
    names = dict(Agent.objects.for_team(principal.team).values_list("slug", "name"))
    for row in _by_agent(principal, period, since, before.until):
        if row["hidden"]:
            if not row["before"]:
                hidden.add(row)
            continue
        slug = row["agent"] or ""
        if slug not in agents:
            agents[slug] = Line(slug, names.get(slug, slug), address(own | {"agent": slug}))
        for line in (total, agents[slug]):
            (line.before if row["before"] else line.sums).add(row)
    active = [line for line in agents.values() if line.sums.runs]
    largest = sorted(active, key=_largest)[:MOST]
    current = Period(since, period.until)
    _draw(principal, largest, current, days)
    named: dict[str, Any] = {"listed": True, "measures": MEASURES, "most": MOST}
    for row in figures.read(principal, figures.by({"person"}), current, **named):
        label = row["person"]
        people[label] = Line(label, label, address(own | {"started_by": label}))
        people[label].sums.add(row)
    slugs = [line.name for line in largest]
    buckets = figures.durations(principal, current, listed=True, slugs=slugs)
    for line in largest:
        line.p95 = figures.percentile(buckets.get(line.name, {}), 0.95)
    total.p95 = figures.percentile(figures.all_durations(principal, current), 0.95)
    earlier = figures.all_durations(principal, before)
    total.p95_before = figures.percentile(earlier, 0.95)
    return Overview(
        days=days,
        since=since,
        total=total,
        hidden=hidden,
        agents=largest,
        people=sorted(people.values(), key=_largest),
        kinds=_kinds(principal, current, own),
        waiting=inbox.waiting(principal).order_by()[: inbox.MOST].count(),
        most_waiting=inbox.MOST,
        slower="" if total.p95 is None else address(own | {"took": _took(total.p95)}),
        quiet_agents=len(names.keys() - {line.name for line in active}),
    )


def text_of(moment: datetime) -> str:
    """A time as the filters of the list read it: ``2026-11-21T00:00Z``."""
    return moment.strftime("%Y-%m-%dT%H:%MZ")


def _by_agent(
    principal: Principal, period: Period, since: datetime, cut: datetime
) -> list[dict[str, Any]]:
    """Sums of each agent, and those of the days ``before``, until ``cut``."""
    keys = {
        "agent": "agent.slug",
        "hidden": "total.owner not in ('', %(me)s)",
        "before": "total.at < %(begin)s",
    }
    last = figures.day_of(cut)
    values: dict[str, Any] = {
        "me": principal.actor_id, "begin": since, "measures": MEASURES,
    }  # fmt: skip
    days = "(total.at >= %(begin)s or total.at < %(last)s)"
    rows = figures.read(principal, keys, period, more=days, last=last, **values)
    return rows + figures.read(principal, keys, Period(last, cut), **values)


def _draw(principal: Principal, lines: list[Line], period: Period, days: int) -> None:
    """Add the figures of each day to these agents."""
    by_slug = {line.name: line for line in lines}
    for line in lines:
        line.days = [Sums() for _ in range(days)]
    keys = {
        "agent": "agent.slug",
        "slot": "floor(extract(epoch from total.at - %(begin)s) / 86400)::int",
    }
    options: dict[str, Any] = {"listed": True, "measures": MEASURES, "begin": period.since}
    for row in figures.read(principal, keys, period, slugs=list(by_slug), **options):
        by_slug[row["agent"]].days[row["slot"]].add(row)


def _kinds(principal: Principal, period: Period, own: dict[str, str]) -> list[Line]:
    lines = []
    for code, number in figures.errors(principal, period, most=MOST_KINDS):
        query = own | {"status": Status.FAILED.value, "error": code}
        lines.append(Line(code, code, address(query), Sums(runs=number)))
    return lines


def _largest(line: Line) -> tuple[float, int, str]:
    return -line.sums.cost, -line.sums.runs, line.name


def _took(milliseconds: float) -> str:
    return f">{milliseconds / 1000:.3f}s"
