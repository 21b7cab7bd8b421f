"""The versions that an agent has had, and how each of them has fared."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import OuterRef, Subquery

from agui_host.runtimes import team_agents
from agui_host.runtimes.models import Agent, AgentVersion
from agui_host.teams.authentication import Principal
from agui_host.teams.tenancy import TeamQuerySet
from runs.models import Run, Status

NEWEST = 1_000
"""Runs of a version that its figures are made of."""
# A version's newest runs in threads that the reader sees, by the index ``run_agent_by_version``.
FIGURES = f"""
select wanted.version, count(*), count(*) filter (where status = '{Status.FAILED.value}'),
       percentile_disc(array[0.5, 0.95]) within group (order by took), avg(coalesce(cost, 0))
  from unnest(%(versions)s::text[]) wanted (version)
 cross join lateral (
    select run.status, run.cost,
           greatest(0, 1000 * extract(epoch from run.ended_at - run.started_at))::float8 as took
      from runs_run run join runs_thread thread on thread.id = run.thread_id
     where run.agent_id = %(agent)s and run.agent_version = wanted.version
       and run.ended_at is not null
       and (thread.visibility <> 'private' or thread.creator = %(me)s)
     order by run.journal_id desc limit {NEWEST}) newest
 group by 1
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Fared:
    """The figures of a version's newest runs that have ended; durations in ms, cost of one run."""

    runs: int = 0
    failed: int = 0
    p50: float | None = None
    p95: float | None = None
    cost: float | None = None

    @property
    def failing(self) -> float:
        """The share of failed runs."""
        return self.failed / self.runs if self.runs else 0.0


def of(principal: Principal, slug: str) -> TeamQuerySet[Any]:
    """The versions of an agent, with ``last_seen_at``: when its newest run was requested.

    The newest version comes first. Raises Forbidden, NotFound.
    """
    agent = team_agents.find(principal, slug)
    runs = Run.objects.for_team(principal.team).filter(
        agent=agent.pk, agent_version=OuterRef("version")
    )
    newest = Subquery(runs.order_by("-pk").values("created_at")[:1])
    rows = AgentVersion.objects.for_team(principal.team).filter(agent=agent.pk)
    return rows.annotate(last_seen_at=newest).order_by("-id")


def fared(principal: Principal, agent: Agent, versions: Iterable[str]) -> dict[str, Fared]:
    """The figures of some versions, by one query; a version without ended runs is absent."""
    values: dict[str, Any] = {
        "agent": agent.pk, "versions": list(versions), "me": principal.actor_id,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(FIGURES, values)
        rows = cursor.fetchall()
    return {
        version: Fared(runs, failed, took[0], took[1], cost)
        for version, runs, failed, took, cost in rows
    }
