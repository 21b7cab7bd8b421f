"""The usage of teams, added up by agent, person, model and hour: exactly the runs that are there.

A trigger leaves a row, ``UsageChange``, in the transaction that ends, changes or erases a run; no
run waits for a row that others share. A chore adds the rows up, some of each team in turn, and
deletes them in the same statement, so that each counts exactly once. A reader adds the
rest (``runs/access/usage/figures.py``). ``recount`` makes the same rows from the runs.
"""

import time
from collections.abc import Callable
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q

from agui_host.backends.postgres import clock
from runs.lifecycle.usage.sums import EDITION, FOLD, RECOUNT
from runs.models import TeamUsage, UsageChange

BATCH = 5_000
"""Changes of a team before the next team's turn."""
LOCK = "select pg_advisory_xact_lock(hashtextextended('agui.usage.' || %(team)s::text, 0))"
EMPTY = (
    "delete from runs_usage where team_id = %(team)s and parts = 0",
    "delete from runs_usagetook where team_id = %(team)s and runs = 0",
    "delete from runs_usagetookhour where team_id = %(team)s and runs = 0",
    "delete from runs_usageversion where team_id = %(team)s and runs = 0",
    "delete from runs_usageerror where team_id = %(team)s and runs = 0",
)


def run_once(seconds: float, leaving: Callable[[], bool] = bool) -> int:
    """Add up changes, for so many seconds at most; how many. The teams take turns."""
    until, total = time.monotonic() + seconds, 0
    never = Q(counted_at=None) | Q(counted_as__lt=EDITION)
    for team_id in TeamUsage.objects.filter(never).values_list("team_id", flat=True):
        if leaving() or time.monotonic() >= until:
            return total
        recount(team_id)
    while teams := teams_behind():
        for team_id in teams:
            if leaving() or time.monotonic() >= until:
                return total
            total += fold(team_id)
    return total


def teams_behind() -> list[UUID]:
    """The teams with changes that are not added up."""
    rows = UsageChange.objects.order_by("team_id").values_list("team_id", flat=True)
    return list(rows.distinct())


def fold(team_id: UUID, most: int = BATCH) -> int:
    """Add up the oldest changes of a team; how many."""
    return _locked(team_id, FOLD, most=most)


def recount(team_id: UUID) -> int:
    """Make a team's usage again from its runs; how many have ended."""
    count = _locked(team_id, RECOUNT)
    usage = TeamUsage.objects.filter(team=team_id)
    usage.update(counted_at=clock.now(), counted_as=EDITION)
    return count


def _locked(team_id: UUID, statement: str, **values: int) -> int:
    # Two processes would add to the same rows in different orders.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LOCK, {"team": team_id})
        cursor.execute(statement, {"team": team_id, **values})
        (count,) = cursor.fetchone()
        for empty in EMPTY:
            cursor.execute(empty, {"team": team_id})
        return int(count)
