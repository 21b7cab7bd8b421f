"""Schedules that are due, and those stopping."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from agui_host.teams import audit
from agui_host.teams.actors import Acting
from runs.models import Schedule, StopReason

# One schedule of each team at a time, its longest due. The teams take turns: the team that was
# served last comes last, however long its ticks have been due. The clock is the database's, so it
# does not matter which process looks.
DUE = """
select id, team_id, now() from (
    select distinct on (s.team_id) s.id, s.team_id, s.next_at
      from runs_schedule s join teams_team team on team.id = s.team_id
     where s.next_at <= now() and team.archived_at is null and s.team_id <> all (%(busy)s)
     order by s.team_id, s.next_at, s.id) oldest
 order by array_position(%(served)s::uuid[], team_id) nulls first, next_at limit %(most)s
"""
# What every worker and web process asks twice a second, so one statement, by the index alone.
OUTLOOK = """
select exists (select from runs_schedule where next_at <= now()),
       (select extract(epoch from min(next_at) - now()) from runs_schedule where next_at > now())
"""


class Due(NamedTuple):
    """A schedule whose tick has come, at ``now`` of the database."""

    schedule: UUID
    team: UUID
    now: datetime


class Outlook(NamedTuple):
    """Whether a tick has come, and the seconds until the next one; None if there is none."""

    has_come: bool
    seconds: float | None


def outlook() -> Outlook:
    """When to look for ticks that are due; those of archived teams count, but are not due."""
    with connection.cursor() as cursor:
        cursor.execute(OUTLOOK)
        has_come, seconds = cursor.fetchone()
    return Outlook(has_come, None if seconds is None else float(seconds))


def due(busy: Collection[UUID], most: int, served: Collection[UUID] = ()) -> list[Due]:
    """A due schedule of each team but the ``busy`` ones, at most ``most``.

    ``served`` are the teams that had a turn lately, the last one last.
    """
    values: dict[str, Any] = {"busy": list(busy), "most": most, "served": list(served)}
    with connection.cursor() as cursor:
        cursor.execute(DUE, values)
        return [Due(*row) for row in cursor.fetchall()]


def stop(schedule: Schedule, reason: StopReason, by: Acting | str) -> None:
    """Stop a schedule that the caller has locked; it stays until it is deleted or resumed."""
    schedule.stopped, schedule.next_at = reason, None
    schedule.save(update_fields=["stopped", "next_at"])
    audit.record(by, schedule.team, "schedule.stopped", str(schedule.pk), reason=reason.value)
