"""How an agent fares: its last success and failure, its rate of failures, limits and schedules."""

from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from agui_host.dashboard.agents.figures import Entry
from agui_host.dashboard.overview import usage
from agui_host.dashboard.overview.budgets import Row
from agui_host.dashboard.overview.overview import Sums
from agui_host.dashboard.overview.usage import Meter
from agui_host.runtimes.models import Agent
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.access.budgets import manage as budgets
from runs.access.schedules import manage as schedules
from runs.lifecycle.schedules import words
from runs.models import BudgetScope, Run, Schedule, Status

NEWEST = 1_000
"""Runs among which the last success and the last failure are looked for."""
MOST = 20
"""Budgets of the page, and schedules."""
LIMITS = ("concurrent_runs", "queued_runs")
"""The limits of the team that runs of each of its agents share."""


@dataclass(slots=True)
class Health:
    """All of it; ``success`` and ``failure`` are of the newest runs that the visitor's list has."""

    success: Run | None
    failure: Run | None
    today: Sums
    before: Sums = field(default_factory=Sums)
    limits: list[Meter] = field(default_factory=list)
    budgets: list[Row] = field(default_factory=list)
    schedules: list[tuple[Schedule, str]] = field(default_factory=list)

    @property
    def is_worse(self) -> bool:
        """Whether a larger share of today's runs failed than of those of the days before."""
        return self.today.failed * max(1, self.before.runs) > self.before.failed * self.today.runs


def of(principal: Principal, agent: Agent, entry: Entry) -> Health:
    """The health of an agent whose figures have been read."""
    *before, today = entry.line.days
    last = _last(principal, agent)
    health = Health(
        last.get(Status.SUCCEEDED),
        last.get(Status.FAILED),
        today,
        limits=usage.meters(principal, LIMITS),
        budgets=_budgets(principal, agent),
        schedules=_schedules(principal, agent),
    )
    for day in before:
        health.before.runs += day.runs
        health.before.failed += day.failed
    return health


def _last(principal: Principal, agent: Agent) -> dict[str, Run]:
    """The last success and the last failure, by status."""
    rows = access.visible(principal).filter(agent=agent.pk).order_by("-pk").values("pk")
    newest = Run.objects.for_team(principal.team).filter(pk__in=rows[:NEWEST])
    ended = newest.filter(status__in=(Status.SUCCEEDED, Status.FAILED)).order_by("status", "-pk")
    last = ended.only("status", "ended_at", "error_code").distinct("status")
    return {run.status: run for run in last}


def _budgets(principal: Principal, agent: Agent) -> list[Row]:
    """The budgets that limit each run of the agent: its own and its team's."""
    own = Q(scope=BudgetScope.AGENT, key=str(agent.pk))
    rows = budgets.visible(principal).filter(own | Q(scope=BudgetScope.TEAM))
    filters: dict[str, Any] = {BudgetScope.AGENT: {"agent": agent.slug}, BudgetScope.TEAM: {}}
    return [Row(row, filters[row.scope]) for row in rows.order_by("scope", "-pk")[:MOST]]


def _schedules(principal: Principal, agent: Agent) -> list[tuple[Schedule, str]]:
    if not principal.can("schedule"):
        return []
    rows = schedules.visible(principal).filter(agent=agent.slug).defer("input").order_by("-id")
    return [(row, words.of(row)) for row in rows[:MOST]]
