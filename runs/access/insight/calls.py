"""The tool calls of a team's runs: by tool, the newest ones, and doubles."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Aggregate, BigIntegerField, Count, Q, QuerySet

from agui_host.teams.authentication import Principal
from agui_host.teams.tenancy import TeamQuerySet
from runs.access.insight.visibility import to_reader
from runs.models import Called, ToolCall

NEWEST = 30_000
"""Calls of the team that the figures by tool are made of, at most."""
TOOLS = 200
EARLIER = 20
"""Earlier calls that are shown with a double."""


class Percentile(Aggregate):
    """The value that a share of the rows does not exceed; rows without one do not count."""

    function = "percentile_disc"
    template = "%(function)s(%(share)s) within group (order by %(expressions)s)"
    output_field = BigIntegerField()


@dataclass(frozen=True, slots=True)
class Tools:
    """Figures by tool; ``since`` is later than asked for where there are more than ``NEWEST``."""

    rows: Sequence[Any]
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
    sums = rows.values("name").annotate(
        calls=Count("pk"),
        failed=Count("pk", filter=Q(status=Called.ERROR)),
        doubles=Count("pk", filter=~Q(double="") & to_reader(principal, whole=True)),
        p50=Percentile("took_ms", share=0.5),
        p95=Percentile("took_ms", share=0.95),
        agents=ArrayAgg("agent__slug", distinct=True, default=[]),
    )  # fmt: skip
    tools = list(sums.order_by("-calls", "name")[:TOOLS])
    return Tools(tools, since if oldest is None else oldest, oldest is not None)


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
