"""The agent that a start names, by ``agui_agent``: only what a start needs of it."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from agui_host.runtimes.models import Agent

FIELDS = [
    "team_id",
    "id",
    "slug",
    "name",
    "kind",
    "on_busy",
    "on_bad_state",
]  # in the model's order
# The function is in runs/sql/start.sql.
AGENT = f"""
select {", ".join(FIELDS)}
  from agui_agent(%(team)s, %(wanted)s, %(or_default)s, %(only_agents)s::text[])
"""  # noqa: S608


class AgentChoice(NamedTuple):
    """An agent of a team by its slug, or the team's default; one of ``only``, if that is set."""

    slug: str
    or_default: bool
    only: Collection[str] | None

    def values(self, team_id: UUID) -> dict[str, Any]:
        """The values of ``AGENT``, which are also among those of a start."""
        return {
            "team": team_id,
            "wanted": self.slug,
            "or_default": self.or_default,
            "only_agents": None if self.only is None else list(self.only),
        }


def find(team_id: UUID, choice: AgentChoice) -> Agent | None:
    """The agent, if it is there and enabled."""
    with connection.cursor() as cursor:
        cursor.execute(AGENT, choice.values(team_id))
        row = cursor.fetchone()
    return None if row is None else of_row(row)


def of_row(row: Sequence[Any]) -> Agent:
    """An agent with these ``FIELDS``; the others are read when they are asked for."""
    return Agent.from_db(connection.alias, FIELDS, row)
