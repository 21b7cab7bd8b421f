"""Agents, and teams with their limits, that a worker has read already: by their rows' versions.

``agui_take_due_runs`` returns the version of each row. So nothing here is ever older than a take,
and a worker reads an agent once instead of for each of its runs.
"""

from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import connection

from agui_host.protocol.deep_copy import deep_copy
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team

MOST = 1_000
FIELDS = [field.attname for field in Agent._meta.concrete_fields]


def agent(agent_id: UUID, version: str) -> Agent:
    """The agent, for one run. Raises Agent.DoesNotExist."""
    row = _agent(agent_id, version)
    values = [deep_copy(it) if isinstance(it, dict | list) else it for it in row]
    return Agent.from_db(connection.alias, FIELDS, values)


@lru_cache(MOST)
def _agent(agent_id: UUID, _version: str) -> tuple[Any, ...]:
    values: tuple[Any, ...] = (
        Agent.objects.of_any_team().filter(pk=agent_id).values_list(*FIELDS).get()
    )
    return values


@lru_cache(MOST)
def team(team_id: UUID, version: str) -> Team:
    """The team with its limits, for all of its runs. Raises Team.DoesNotExist.

    Its ``has_budgets``, the end of the version, is for ``budgets.spending``.
    """
    row = Team.objects.select_related("limits").get(pk=team_id)
    vars(row)["has_budgets"] = version.endswith(".true")
    return row
