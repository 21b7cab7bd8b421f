"""Many runs at once against one budget: together they overshoot by at most one model call."""

import random
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from uuid import UUID

import pytest
from django.db import connection
from django.db.models import F

from agui_host.backends.postgres import clock, scope
from agui_host.prices import Prices
from runs.lifecycle import ending
from runs.lifecycle.budgets import spending
from runs.lifecycle.budgets.spending import Total
from runs.models import Budget, BudgetScope, Run, Status, Unit
from tests.cast import Cast, start
from tests.runs.jobs import FINISHED

pytestmark = pytest.mark.django_db(transaction=True)
RUNS, CALL, MAX = 100, 100, 2_000
SCHEDULES = [
    range(50),
    pytest.param(range(1_000), marks=[pytest.mark.soak, pytest.mark.timeout(1_800)]),
]


@pytest.fixture
def budget(cast: Cast) -> Budget:
    return Budget.objects.create(
        team=cast.team, scope=BudgetScope.TEAM, of="acme", key=str(cast.team.pk),
        unit=Unit.TOKENS, max=MAX, reserve=CALL, created_by="x",
    )  # fmt: skip


def running(cast: Cast, number: int) -> list[UUID]:
    keys = [start(cast.alice, threadId=str(n)).pk for n in range(number)]
    Run.objects.filter(pk__in=keys).update(status=Status.RUNNING)
    return keys


def used(budget: Budget) -> Decimal:
    spending.settle(budget.team_id)
    budget.refresh_from_db()
    return budget.used


@pytest.mark.parametrize("seeds", SCHEDULES, ids=len)
def test_in_any_order_of_calls(cast: Cast, budget: Budget, seeds: range) -> None:
    keys = running(cast, RUNS)
    for seed in seeds:
        chance = random.Random(seed)
        Budget.objects.update(used=0)
        with connection.cursor() as cursor:
            cursor.execute("delete from runs_budgetedrun")
        spent: dict[UUID, int] = {}
        waiting = chance.sample(keys, 20)
        calls = 0
        while waiting or spent:
            key = chance.choice([*waiting, *spent])
            if key not in spent:
                waiting.remove(key)
                if spending.begin(key) is None:
                    spent[key] = 0
                continue
            tokens = chance.randint(1, CALL)
            spent[key] += tokens
            calls += tokens
            if spending.report(key, Total(spent[key])) is not None or chance.random() < 0.05:
                del spent[key]
                with connection.cursor() as cursor:
                    cursor.execute("delete from runs_budgetedrun where run_id = %s", [key])
        assert used(budget) == calls
        assert calls <= MAX + CALL, seed


def test_at_the_same_time(cast: Cast, budget: Budget) -> None:
    keys = running(cast, RUNS)

    def play(key: UUID) -> int:
        with scope.everywhere():
            try:
                tokens = 0
                if spending.begin(key) is not None:
                    return 0
                while spending.report(key, Total(tokens + CALL)) is None:
                    tokens += CALL
                Run.objects.of_any_team().filter(pk=key).update(
                    status=Status.SUCCEEDED, ended_at=clock.now()
                )
                return tokens + CALL
            finally:
                connection.close()

    with ThreadPoolExecutor(8) as pool:
        tokens = sum(pool.map(play, keys))
    assert used(budget) == tokens
    assert MAX <= tokens <= MAX + CALL


def test_none_begins_once_it_is_used_up_exactly(cast: Cast, budget: Budget) -> None:
    first, second = running(cast, 2)
    assert spending.report(first, Total(MAX), last=True) is None
    Run.objects.filter(pk=first).update(status=Status.SUCCEEDED, ended_at=clock.now())
    assert spending.begin(second) == budget


def test_the_end_adds_what_was_not_reported(cast: Cast, budget: Budget) -> None:
    (key,) = running(cast, 1)
    spending.report(key, Total(70))
    usage = [{"model": "m", "inputTokens": 90, "outputTokens": 10}]
    ending.finish(key, {**FINISHED, "usage": usage})
    assert used(budget) == 100


def test_periods_begin_by_the_databases_clock(cast: Cast, budget: Budget) -> None:
    (key,) = running(cast, 1)
    spending.report(key, Total(70))
    Budget.objects.update(period="day", since=F("since"))
    assert used(budget) == 70
    with connection.cursor() as cursor:
        cursor.execute("update runs_budget set since = since - interval '1 day'")
    assert used(budget) == 0
    spending.report(key, Total(90))
    assert used(budget) == 20


def test_negative_usage_gives_no_room(cast: Cast, budget: Budget) -> None:
    (key,) = running(cast, 1)
    spending.report(key, spending.total_of([{"inputTokens": 500}], Prices({})))
    refund = spending.total_of([{"inputTokens": 500}, {"inputTokens": -10_000}], Prices({}))
    spending.report(key, refund)
    assert used(budget) == 0
