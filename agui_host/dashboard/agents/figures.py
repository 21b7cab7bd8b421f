"""The figures of a team's agents in the latest days, and how the versions of one compare."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Subquery

from agui_host.backends.postgres import clock
from agui_host.dashboard.overview.overview import MEASURES, Line, Sums, address, text_of
from agui_host.dashboard.runs_list import columns
from agui_host.runtimes import team_agents
from agui_host.runtimes.models import Agent, AgentVersion
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.access.agents import versions
from runs.access.agents.versions import Fared
from runs.access.usage import figures
from runs.access.usage.figures import DAY, HOUR, Period
from runs.api.listing.search import HEAVY
from runs.models import Run

DAYS = 7
"""The period of all figures, with today."""
ROWS = 50
"""Agents of a page of the list."""
VERSIONS = 10
"""Versions of a page."""
RUNS = 10


@dataclass(slots=True)
class Entry:
    """An agent with its figures; ``last`` is its newest run in the visitor's list."""

    agent: Agent
    line: Line
    p50: float | None = None
    last: Run | None = None


@dataclass(slots=True)
class Version:
    """A version of an agent, when it ran, how its newest runs have fared, and all its runs."""

    row: Any
    fared: Fared
    is_present: bool
    runs: str

    @property
    def failures(self) -> str:
        return f"{self.runs}&status=failed"


@dataclass(slots=True)
class Versions:
    """A page of versions, the newest first. ``present`` and ``former`` are to be compared."""

    rows: list[Version] = field(default_factory=list)
    older: int | None = None
    present: Version | None = None
    former: Version | None = None


def listing(principal: Principal, page: int = 1) -> tuple[list[Entry], bool]:
    """A page of the team's agents by name, each with its figures; and whether there are more."""
    newest = access.visible(principal).filter(agent=OuterRef("pk")).order_by("-pk").values("pk")
    rows = team_agents.visible(principal).defer("settings", "description", "secrets")
    ordered = rows.annotate(last=Subquery(newest[:1])).order_by("slug")
    one_more = list(ordered[ROWS * (page - 1) : ROWS * page + 1])
    agents = one_more[:ROWS]
    since = figures.day_of(clock.now()) - (DAYS - 1) * DAY
    period = Period(since, figures.day_of(clock.now()) + DAY)
    lines = {agent.slug: _line(agent, since) for agent in agents}
    keys = figures.by({"agent"}) | {"day": _slot("%(begin)s")}
    own: dict[str, Any] = {"listed": True, "slugs": list(lines)}
    for row in figures.read(principal, keys, period, measures=MEASURES, begin=since, **own):
        lines[row["agent"]].sums.add(row)
        lines[row["agent"]].days[row["day"]].add(row)
    buckets = figures.durations(principal, period, **own)
    last_keys = {vars(agent)["last"] for agent in agents} - {None}
    lasts = Run.objects.for_team(principal.team).only("created_at").in_bulk(list(last_keys))
    entries = [
        Entry(
            agent,
            lines[agent.slug],
            figures.percentile(buckets.get(agent.slug, {}), 0.5),
            lasts.get(vars(agent)["last"]),
        )
        for agent in agents
    ]
    for entry in entries:
        entry.line.p95 = figures.percentile(buckets.get(entry.agent.slug, {}), 0.95)
    return entries, len(one_more) > ROWS


def of(principal: Principal, agent: Agent) -> Entry:
    """The figures of one agent, and of the same hours of as many days before."""
    now = clock.now()
    since = figures.day_of(now) - (DAYS - 1) * DAY
    entry = Entry(agent, _line(agent, since))
    own: dict[str, Any] = {"listed": True, "slugs": [agent.slug]}
    some: dict[str, Any] = own | {"measures": MEASURES}
    keys = figures.by({"agent"}) | {"day": _slot("%(begin)s")}
    current = Period(since, figures.day_of(now) + DAY)
    for row in figures.read(principal, keys, current, begin=since, **some):
        entry.line.sums.add(row)
        entry.line.days[row["day"]].add(row)
    # The same hours of the days before; only the last of these days is read by the hour.
    cut = figures.hour_of(now) + HOUR - DAYS * DAY
    last = figures.day_of(cut)
    for before in (Period(since - DAYS * DAY, last), Period(last, cut)):
        for row in figures.read(principal, figures.by({"agent"}), before, **some):
            entry.line.before.add(row)
    buckets = figures.durations(principal, current, **own).get(agent.slug, {})
    entry.p50, entry.line.p95 = (figures.percentile(buckets, share) for share in (0.5, 0.95))
    return entry


def versions_of(principal: Principal, agent: Agent, before: int | None = None) -> Versions:
    """A page of the agent's versions: the versions before that with the id ``before``."""
    rows = versions.of(principal, agent.slug)
    if before is not None:
        rows = rows.filter(id__lt=before)
    newest = list(rows[: VERSIONS + 1])
    first = newest[:VERSIONS]
    fared = versions.fared(principal, agent, [row.version for row in first])
    entries = [_version(agent, row, fared.get(row.version, Fared())) for row in first]
    page = Versions(entries, first[-1].pk if len(newest) > VERSIONS else None)
    page.present = next((entry for entry in entries if entry.is_present), None)
    others = [entry for entry in entries if not entry.is_present and entry.fared.runs]
    page.former = max(others, key=_last_seen, default=None)
    return page


def newest_runs(principal: Principal, agent: Agent) -> list[Run]:
    """The agent's newest runs, as lists show them."""
    rows = access.visible(principal).defer(*HEAVY).filter(agent=agent.pk).order_by("-pk")
    return [access.faced(principal, run) for run in columns.filled(rows, [])[:RUNS]]


def _line(agent: Agent, since: datetime) -> Line:
    query = {"agent": agent.slug, "since": text_of(since)}
    return Line(agent.slug, agent.name, address(query), days=[Sums() for _ in range(DAYS)])


def _slot(begin: str) -> str:
    return f"floor(extract(epoch from total.at - {begin}) / 86400)::int"


def _version(agent: Agent, row: AgentVersion, fared: Fared) -> Version:
    runs = address({"agent": agent.slug, "agent_version": row.version})
    return Version(row, fared, row.version == agent.version, runs)


def _last_seen(version: Version) -> datetime:
    moment: datetime = version.row.last_seen_at
    return moment
