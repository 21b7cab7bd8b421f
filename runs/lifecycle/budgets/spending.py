"""The spending of a run, counted in its team's budgets while it runs (``runs/sql/budgets.sql``).

Each report is a transaction of its own, which locks the budgets of one team and nothing else. So
the writer, whose commits store the events of all teams, never waits for a budget. The end of a run
only adds a row; the next report or the next reader counts it.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction

from agui_host.prices import Prices
from runs.lifecycle.statements import figures
from runs.models import Budget, Run, Spent

SPEND = "select * from agui_spend(%(run)s, %(tokens)s, %(cost)s, %(begins)s, %(last)s)"
SETTLE = "select agui_settle_spent(%s)"


class Total(NamedTuple):
    """The spending of a run so far."""

    tokens: int = 0
    cost: Decimal = Decimal(0)


def total_of(usage: Iterable[Mapping[str, Any]], team: Prices, result: Any = None) -> Total:
    """The sum of a run's usage by the team's prices, as its end stores it; a negative one is 0."""
    columns = figures.of({"usage": list(usage), "result": result}, None, team)
    tokens = (columns["tokens_in"] or 0) + (columns["tokens_out"] or 0)
    return Total(tokens, Decimal(str(columns["cost"] or 0)).quantize(Decimal("0.000001")))


def has_budgets(team_id: UUID) -> bool:
    """Whether the runs of a team are counted at all."""
    return Budget.objects.filter(team=team_id).exists()


def noted_with(run: Run) -> bool | None:
    """``has_budgets`` as a claim has noted it with the run or its team; None if it has not."""
    noted: bool | None = vars(run).get("has_budgets")
    if noted is None and Run.team.is_cached(run):
        noted = vars(run.team).get("has_budgets")
    return noted


def begin(run_id: UUID) -> Budget | None:
    """Reserve the run's first model call; the budget that has no room for it, if there is one."""
    return _spend(run_id, Total(), begins=True, last=False)


def report(run_id: UUID, total: Total, *, last: bool = False) -> Budget | None:
    """Count the run's spending so far; the budget that ends it, if there is one."""
    return _spend(run_id, total, begins=False, last=last)


def settle(team_id: UUID) -> None:
    """Count everything that the team's runs have spent, and begin new periods."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(SETTLE, [team_id])


def settle_all(until: float, leaving: Callable[[], bool] = bool) -> int:
    """Settle all teams until this monotonic time, so that their budgets warn; how many teams."""
    rows = Spent.objects.of_any_team().order_by("team_id").values_list("team_id", flat=True)
    teams = list(rows.distinct())
    for number, team_id in enumerate(teams):
        if leaving() or time.monotonic() >= until:
            return number
        settle(team_id)
    return len(teams)


def _spend(run_id: UUID, total: Total, *, begins: bool, last: bool) -> Budget | None:
    values = {**total._asdict(), "run": run_id, "begins": begins, "last": last}
    with transaction.atomic():
        rows = list(Budget.objects.raw(SPEND, values))
    return rows[0] if rows else None
