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
from runs.access.usage import figures
from runs.lifecycle.usage import sums
from runs.models import Run

# All ended runs of the versions in threads that the reader sees: those that are added up, and the
# changes that are not yet.
FIGURES = f"""
with changes as (
    select agent_id, agent_version, owner, status, sign, cost, took_ms
      from runs_usagechange
     where team_id = %(team)s and agent_id = %(agent)s and agent_version = any (%(versions)s)),
fresh as ({sums.versions("changes")})
select version, bucket, sum(runs)::bigint, sum(failed)::bigint, sum(cost)::float8
  from (select version, owner, bucket, runs, failed, cost from runs_usageversion
         where team_id = %(team)s and agent_id = %(agent)s and version = any (%(versions)s)
        union all
        select version, owner, bucket, runs, failed, cost from fresh) total
 where owner in ('', %(me)s)
 group by 1, 2
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Fared:
    """The figures of a version's ended runs; cost of one run, durations in ms, 5 % exact."""

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
        "team": agent.team_id, "agent": agent.pk, "versions": list(versions),
        "me": principal.actor_id,
    }  # fmt: skip
    by_version: dict[str, list[Any]] = {}
    with connection.cursor() as cursor:
        cursor.execute(FIGURES, values)
        for version, *row in cursor.fetchall():
            by_version.setdefault(version, []).append(row)
    # All runs of a version may be erased, and its rows not be added up yet.
    counted = {key: rows for key, rows in by_version.items() if sum(row[1] for row in rows)}
    return {version: _fared(rows) for version, rows in counted.items()}


def _fared(rows: list[Any]) -> Fared:
    runs = sum(row[1] for row in rows)
    took = {bucket: number for bucket, number, _, _ in rows if number and bucket >= 0}
    p50, p95 = (figures.percentile(took, share) for share in (0.5, 0.95))
    return Fared(runs, sum(row[2] for row in rows), p50, p95, sum(row[3] for row in rows) / runs)
