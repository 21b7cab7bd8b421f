"""The figures of tool calls by day, so that a page need not count a team's million calls.

A trigger marks a day in the transaction that stores, changes or erases a call of it. Here, marked
days are counted again; a reader counts a day that is marked by itself. A count and the removal of
its marks are one statement, which sees the changes of the marks that it removes and no others: a
day without a mark is exact.
"""

import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from agui_host.backends.postgres import clock
from runs.lifecycle.usage import sums
from runs.models import Called, ToolChange

DAYS = 7
"""Days of a team before the next team's turn."""
LOCK = "select pg_advisory_xact_lock(hashtextextended('agui.tool_days.' || %(team)s::text, 0))"
COUNT = f"""
with gone as (
    delete from runs_toolchange where team_id = %(team)s and day in (
        select distinct day from runs_toolchange
         where team_id = %(team)s and day < %(today)s order by day limit %(most)s)
    returning day),
days as (select distinct day from gone),
called as (
    select day, agent_id, name, owner, status, double,
           case when took_ms is not null then {sums.BUCKET.format(took="took_ms")} end as bucket
      from days join runs_toolcall on team_id = %(team)s
       and at >= day::timestamp at time zone 'UTC'
       and at < (day + 1)::timestamp at time zone 'UTC'),
took as (
    select day, name, owner, bucket, count(*)::int as calls
      from called where bucket is not null group by 1, 2, 3, 4),
former as (
    delete from runs_toolday where team_id = %(team)s and day in (select day from days)),
counted as (
    insert into runs_toolday (
        team_id, day, agent_id, name, owner, calls, failed, doubles, buckets, counts)
    select %(team)s, day, agent_id, name, owner, count(*),
           count(*) filter (where status = '{Called.ERROR.value}'),
           count(*) filter (where double <> ''), array[]::smallint[], array[]::int[]
      from called group by day, agent_id, name, owner
    union all
    select %(team)s, day, null, name, owner, 0, 0, 0, array_agg(bucket), array_agg(calls)
      from took group by day, name, owner)
select count(*) from days
"""  # noqa: S608
# The present day is counted once it is over; until then one of its marks is enough.
THIN = """
delete from runs_toolchange mark using (
    select day, max(id) as last from runs_toolchange where team_id = %(team)s group by day) newest
 where mark.team_id = %(team)s and mark.day = newest.day and mark.id < newest.last
"""


def run_once(seconds: float, leaving: Callable[[], bool] = bool) -> int:
    """Count marked days, for so many seconds at most; how many. The teams take turns."""
    until, total, first = time.monotonic() + seconds, 0, True
    while teams := _teams(over=not first):
        for team_id in teams:
            if leaving() or time.monotonic() >= until:
                return total
            total += count(team_id)
        first = False
    return total


def count(team_id: UUID) -> int:
    """Count the oldest marked days of a team that are over; how many."""
    values: dict[str, Any] = {"team": team_id, "today": clock.now().date(), "most": DAYS}
    # Two processes would insert the same rows.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LOCK, values)
        cursor.execute(THIN, values)
        cursor.execute(COUNT, values)
        return int(cursor.fetchone()[0])


def _teams(*, over: bool) -> list[UUID]:
    rows = ToolChange.objects.order_by("team_id")
    if over:
        rows = rows.filter(day__lt=clock.now().date())
    return list(rows.values_list("team_id", flat=True).distinct())
