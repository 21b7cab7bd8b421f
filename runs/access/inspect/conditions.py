"""The filters of a list of runs as conditions on a team's runs, for the API, pages and alerts.

Each takes the team, its runs and the value that is written in an address.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from agui_host.runtimes.models import Agent, AgentVersion
from agui_host.teams import actors
from agui_host.teams.end_users import naming
from agui_host.teams.models import Team
from events.models import Finding
from runs.models import Feedback, IssueRun, Run, Thread, ToolCall

Condition = Callable[[Team, QuerySet[Run], str], QuerySet[Run]]
MOST_RATED = 10**9
"""More ratings than a team can have."""
LENGTH = re.compile(r"([<>])(\d{1,6}(?:\.\d{1,3})?)(ms|s|m|h)")
"""Of a run: ``>10s``."""
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
UNINDEXED = ("tag", "took", "findings", "tool", "model")
"""Filters that look at a number of the newest runs that pass the others."""


def of_agent(team: Team, runs: QuerySet[Run], slug: str) -> QuerySet[Run]:
    """With the agent's id the planner has statistics of its runs; by its slug it guesses."""
    agent = Agent.objects.for_team(team).filter(slug=slug).only("pk").first()
    return runs.none() if agent is None else runs.filter(agent=agent.pk)


def of_version(team: Team, runs: QuerySet[Run], version: str) -> QuerySet[Run]:
    """As ``of_agent``: agents made of one module with the same settings share a version."""
    versions = AgentVersion.objects.for_team(team).filter(version=version)
    agents = list(versions.values_list("agent_id", flat=True))
    return runs.filter(agent__in=agents, agent_version=version)


def of_issue(team: Team, runs: QuerySet[Run], issue: UUID | str) -> QuerySet[Run]:
    """The failed runs of an issue of the team."""
    rows = IssueRun.objects.for_team(team).filter(issue=UUID(str(issue)))
    return runs.filter(pk__in=rows.values("run"))


def of_thumb(team: Team, runs: QuerySet[Run], thumb: str) -> QuerySet[Run]:
    """Begins with the ratings of the newest runs.

    The bound has PostgreSQL keep their order; without it, each page sorted all rated runs.
    """
    rated = Feedback.objects.for_team(team).filter(thumb=thumb)
    newest = rated.order_by("-run").values("run").distinct()[:MOST_RATED]
    return runs.filter(pk__in=newest)


def of_starter(team: Team, runs: QuerySet[Run], label: str) -> QuerySet[Run]:
    """By the label of a person or key, or by the name that usage gives to an end user."""
    if not actors.is_end_user(label):
        return runs.filter(started_by=label)
    sub, realm = naming.sub_of(label.removeprefix(actors.END_USER), naming.realms_of(team))
    theirs = runs.filter(end_user=sub)
    if realm is None:
        return theirs
    return theirs.filter(thread__creator=actors.end_user_id(realm, sub))


INDEXED: Mapping[str, Condition] = {
    "agent": of_agent,
    "agent_version": of_version,
    "started_by": of_starter,
    "issue": of_issue,
    "thumb": of_thumb,
    "thread_id": lambda _, runs, value: runs.filter(thread__thread_id=value),
    "run_id": lambda _, runs, value: runs.filter(run_id=value),
    "error": lambda _, runs, value: runs.filter(error_code=value),
    "end_user": lambda _, runs, value: runs.filter(end_user=value),
}
"""By the parameter of the address; ``status`` has several values, and words are a search."""


def passing(runs: QuerySet[Run], values: Iterable[tuple[str, str]]) -> QuerySet[Run]:
    """Those of a few runs that pass these filters, of ``UNINDEXED``."""
    conditions = [_condition(name, value) for name, value in values]
    return runs.alias(**_beside()).filter(*conditions) if conditions else runs


def _beside() -> dict[str, Subquery]:
    """The texts of a run's thread, its findings and the names of its tools.

    Subqueries, which are answered for each run that is looked at; for a join, PostgreSQL read all
    threads or findings.
    """
    thread = Thread.objects.filter(pk=OuterRef("thread_id"))
    own = Finding.objects.filter(journal=OuterRef("pk")).order_by()
    return {
        "thread_tags": Subquery(thread.values("tags")),
        "first_finding": Subquery(own.values("pk")[:1]),
        "tools": ArraySubquery(ToolCall.objects.filter(run=OuterRef("pk")).values("name")),
    }


def _condition(name: str, value: str) -> Q:
    if name == "tag":
        return Q(thread_tags__contains=[value])
    if name == "tool":
        return Q(tools__contains=[value])
    if name == "model":
        return Q(by_model__contains=[{"model": value}])
    if name == "findings":
        return Q(first_finding__isnull=value == "no")
    length = LENGTH.fullmatch(value)
    assert length is not None  # noqa: S101  the caller has checked it
    ended = F("started_at") + timedelta(seconds=float(length[2]) * UNITS[length[3]])
    return Q(ended_at__gt=ended) if length[1] == ">" else Q(ended_at__lt=ended)
