"""A budget that is made while a run ends counts that run once."""

import threading
import time
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from runs.lifecycle.budgets import spending
from runs.models import Budget, BudgetedRun, Run, Spent, Status
from tests.asgi import ask_now
from tests.cast import Cast, start

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/api/v1/budgets"


def make(cast: Cast, **more: Any) -> Any:
    body = {"scope": "team", "of": cast.team.slug, **more}
    return ask_now("POST", LIST, cast.alice.headers, json=body)


def end(run: Run) -> None:
    """Ends a run with 60 tokens, with the row that ``runs/sql/ending.sql`` leaves for budgets."""
    with transaction.atomic():
        Run.objects.filter(pk=run.pk).update(
            status=Status.SUCCEEDED, ended_at=Now(), tokens_in=50, tokens_out=10, cost=2
        )
        Spent.objects.create(
            team=run.team, run_id=run.pk, keys=[str(run.team_id)], tokens=60, cost=2
        )


def wait_for_lock() -> None:
    until = time.monotonic() + 30
    while True:
        with connection.cursor() as cursor:
            cursor.execute("select count(*) from pg_locks where not granted")
            row = cursor.fetchone()
        if row and row[0]:
            return
        assert time.monotonic() < until, "nothing waits for the row"


@pytest.mark.parametrize(
    ("amount", "used"), [({"tokens": 1_000}, 60), ({"cost": 100, "period": "day"}, 2)]
)
def test_it_counts_once(cast: Cast, amount: dict[str, Any], used: int) -> None:
    make(cast, tokens=10**6)
    ending, other = start(cast.alice, threadId="a"), start(cast.alice, threadId="b")
    # The creation settles the team's rows, then waits here until the run has ended.
    lock = BudgetedRun.objects.create(run_id=other.pk, team=cast.team, keys=[])
    params = connection.get_connection_params()
    address = {k: params[k] for k in ("host", "user", "dbname", "password", "port") if k in params}
    made: list[Any] = []
    creating = threading.Thread(target=lambda: made.append(make(cast, **amount)))
    with psycopg.connect(**address) as holder:
        holder.execute("select from runs_budgetedrun where run_id = %s for update", [lock.pk])
        creating.start()
        wait_for_lock()
        end(ending)
    creating.join(30)
    assert made[0].status == 201, made[0].body
    spending.settle(cast.team.pk)
    assert not Spent.objects.exists(), "the run's row is counted now"
    assert Budget.objects.get(pk=made[0].json["id"]).used == used
