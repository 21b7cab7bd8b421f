"""The tool calls of a team's runs: by tool, the newest ones, and doubles."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Func, Q, QuerySet, SmallIntegerField

from agui_host.runtimes.models import Agent
from agui_host.teams.authentication import Principal
from agui_host.teams.tenancy import TeamQuerySet
from runs.access.insight.visibility import to_reader
from runs.access.usage import figures
from runs.lifecycle.usage import sums
from runs.models import Called, ToolCall

NEWEST = 30_000
"""Calls of the team that the figures by tool are made of, at most."""
TOOLS = 200
EARLIER = 20
"""Earlier calls that are shown with a double."""


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


@dataclass(frozen=True, slots=True)
class Tools:
    """Figures by tool; ``since`` is later than asked for where there are more than ``NEWEST``."""

    rows: Sequence[Tool]
    since: datetime
    is_cut: bool


def visible(principal: Principal) -> TeamQuerySet[ToolCall]:
    """The calls that the principal sees. Raises Forbidden."""
    rows = ToolCall.objects.for_team(principal.team).filter(to_reader(principal))
    return rows.select_related("agent")


def by_tool(principal: Principal, since: datetime) -> Tools:
    """The figures of each tool, the most frequent first."""
    rows = visible(principal).filter(at__gte=since)
    # Of all calls of the team, also those that the caller does not see: the index alone has them.
    calls = ToolCall.objects.for_team(principal.team).filter(at__gte=since).order_by("-at")
    oldest = calls.values_list("at", flat=True)[NEWEST : NEWEST + 1].first()
    if oldest is not None:
        rows = rows.filter(at__gt=oldest)
    tools: dict[str, Tool] = {}
    slugs = dict(Agent.objects.for_team(principal.team).values_list("pk", "slug"))
    # Two small tables, each read from the index alone, in place of one that has to be sorted.
    counted = rows.order_by().values("name", "agent_id").annotate(
        calls=Count("at"),
        failed=Count("at", filter=Q(status=Called.ERROR)),
        doubles=Count("at", filter=~Q(double="") & to_reader(principal, whole=True)),
    )  # fmt: skip
    for row in counted:
        tool = tools.setdefault(row["name"], Tool(row["name"]))
        tool.calls += row["calls"]
        tool.failed += row["failed"]
        tool.doubles += row["doubles"]
        tool.agents.append(slugs.get(row["agent_id"], ""))
    took = rows.order_by().filter(took_ms__isnull=False).values("name", bucket=Bucket("took_ms"))
    for group in took.annotate(calls=Count("at")):
        if (called := tools.get(group["name"])) is not None:  # first called since the last line
            called.took[group["bucket"]] = group["calls"]
    first = sorted(tools.values(), key=lambda tool: (-tool.calls, tool.name))[:TOOLS]
    for tool in first:
        tool.agents.sort()
    return Tools(first, since if oldest is None else oldest, oldest is not None)


def doubles(
    principal: Principal, rows: QuerySet[ToolCall], kinds: Collection[str] = Called.values
) -> QuerySet[ToolCall]:
    """The calls that repeat another one, by the outcome of the calls before.

    Without runs that are seen alone: the calls before can be of earlier runs.
    """
    return rows.filter(to_reader(principal, whole=True), double__in=list(kinds))


def earlier(principal: Principal, calls: Iterable[ToolCall]) -> dict[int, list[ToolCall]]:
    """The calls that each of these doubles repeats, the newest first."""
    roots = {call.root for call in calls if call.double}
    if not roots:
        return {}
    groups: dict[tuple[UUID, str, str], list[ToolCall]] = {}
    for call in visible(principal).filter(root__in=roots).order_by("-run_id", "-seq", "-id"):
        groups.setdefault((call.root, call.name, call.digest), []).append(call)
    before: dict[int, list[ToolCall]] = {}
    for same in groups.values():
        for place, call in enumerate(same, 1):
            before[call.pk] = same[place : place + EARLIER]
    return before
