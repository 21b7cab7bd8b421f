"""Many runs at once against one budget: together they overshoot by at most one model call.

``budget`` is told how large a call is. ``unknowing`` is not: it learns that from the calls.
"""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from itertools import chain, repeat
from uuid import UUID

import pytest
from django.db import connection
from django.db.models import F

from agui_host.backends.postgres import clock, scope
from agui_host.prices import Prices
from runs.lifecycle import ending
from runs.lifecycle.budgets import spending
from runs.lifecycle.budgets.spending import Total
from runs.models import Budget, BudgetedRun, BudgetScope, Run, Status, Unit
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


@pytest.fixture
def unknowing(budget: Budget) -> Budget:
    Budget.objects.update(reserve=None)
    budget.refresh_from_db()
    return budget


def running(cast: Cast, number: int) -> list[UUID]:
    keys = [start(cast.alice, threadId=str(n)).pk for n in range(number)]
    Run.objects.filter(pk__in=keys).update(status=Status.RUNNING)
    return keys


def used(budget: Budget) -> Decimal:
    spending.settle(budget.team_id)
    budget.refresh_from_db()
    return budget.used


def any_size(chance: random.Random) -> Iterator[int]:
    while True:
        yield chance.randint(1, CALL)


def play(keys: list[UUID], chance: random.Random, calls: Iterator[int]) -> list[int]:
    """Run these until each has ended or been stopped; the sizes of their calls.

    Those that find no room wait, as in a worker, until the budget is spent.
    """
    Budget.objects.update(used=0, calls=0, largest=0)
    with connection.cursor() as cursor:
        cursor.execute("delete from runs_budgetedrun")
    spent: dict[UUID, int] = {}
    waiting = list(keys)
    sizes: list[int] = []
    while waiting or spent:
        key = chance.choice([*waiting, *spent])
        if key not in spent:
            refused = spending.begin(key)
            if refused is None:
                spent[key] = 0
            if refused is None or refused.is_spent:
                waiting.remove(key)
            continue
        sizes.append(next(calls))
        spent[key] += sizes[-1]
        if spending.report(key, Total(spent[key])) is not None or chance.random() < 0.05:
            del spent[key]
            with connection.cursor() as cursor:
                cursor.execute("delete from runs_budgetedrun where run_id = %s", [key])
    return sizes


@pytest.mark.parametrize("seeds", SCHEDULES, ids=len)
def test_in_any_order_of_calls(cast: Cast, budget: Budget, seeds: range) -> None:
    keys = running(cast, RUNS)
    for seed in seeds:
        chance = random.Random(seed)
        sizes = play(chance.sample(keys, 20), chance, any_size(chance))
        assert used(budget) == sum(sizes)
        assert sum(sizes) <= MAX + CALL, seed


@pytest.mark.parametrize("seeds", SCHEDULES, ids=len)
def test_of_a_size_that_it_is_not_told(cast: Cast, unknowing: Budget, seeds: range) -> None:
    keys = running(cast, RUNS)
    for seed in seeds:
        chance = random.Random(seed)
        size = chance.choice([MAX // 50, CALL, MAX // 3, MAX, 2 * MAX])
        number = 20 if size > CALL else 5
        sizes = play(chance.sample(keys, number), chance, repeat(size))
        assert used(unknowing) == sum(sizes)
        assert sum(sizes) <= MAX + size, (seed, size)


@pytest.mark.parametrize("seeds", SCHEDULES, ids=len)
def test_later_calls_that_are_no_larger(cast: Cast, unknowing: Budget, seeds: range) -> None:
    """The first call is the largest; the following ones have any size."""
    keys = running(cast, RUNS)
    for seed in seeds:
        chance = random.Random(seed)
        sizes = play(chance.sample(keys, 20), chance, chain([CALL], any_size(chance)))
        assert sum(sizes) <= MAX + CALL, seed


def test_learning_holds_no_run_back_for_long(cast: Cast, unknowing: Budget) -> None:
    first, second, child = running(cast, 3)
    Run.objects.filter(pk=child).update(parent=first)
    assert spending.begin(first) is None
    refused = spending.begin(second)
    assert refused is not None
    assert refused.used == 0, "it waits for the first call to be reported"
    assert spending.begin(child) is None, "its parent may wait for it"
    BudgetedRun.objects.filter(run_id=second).update(asked_at=F("asked_at") - timedelta(seconds=11))
    assert spending.begin(second) is None


@pytest.mark.parametrize("learns", [False, True])
def test_at_the_same_time(cast: Cast, budget: Budget, learns: bool) -> None:
    if learns:
        Budget.objects.update(reserve=None)
    keys = running(cast, RUNS)

    def spend(key: UUID) -> int:
        with scope.everywhere():
            try:
                tokens = 0
                while (refused := spending.begin(key)) is not None:
                    if refused.is_spent:
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
        tokens = sum(pool.map(spend, keys))
    assert used(budget) == tokens
    assert MAX <= tokens <= MAX + CALL


def test_while_it_learns_runs_begin_one_after_another(cast: Cast, unknowing: Budget) -> None:
    first, second, third, fourth = running(cast, 4)
    assert spending.begin(first) is None
    assert spending.begin(second) == unknowing
    spending.report(first, Total(10))
    assert [spending.begin(key) for key in (second, third)] == [None, unknowing]
    spending.report(second, Total(10))
    assert [spending.begin(key) for key in (third, fourth)] == [None, unknowing]


def test_a_run_that_spends_nothing_lets_the_next_begin(cast: Cast, unknowing: Budget) -> None:
    first, second, third = running(cast, 3)
    assert spending.begin(first) is None
    assert spending.begin(third) == unknowing
    Run.objects.filter(pk=first).update(status=Status.SUCCEEDED, ended_at=clock.now())
    assert spending.begin(second) is None


def test_a_run_that_waits_takes_no_room_from_others(cast: Cast, unknowing: Budget) -> None:
    Budget.objects.update(calls=9, largest=MAX)
    first, second, third = running(cast, 3)
    assert spending.begin(first) is None
    assert spending.begin(second) == unknowing
    Run.objects.filter(pk=first).update(status=Status.SUCCEEDED, ended_at=clock.now())
    assert spending.begin(third) is None
    assert spending.begin(second) == unknowing


def test_a_new_period_halves_the_largest_call(cast: Cast, unknowing: Budget) -> None:
    (key,) = running(cast, 1)
    spending.report(key, Total(70))
    Budget.objects.update(period="day", since=F("since"))
    used(unknowing)
    assert unknowing.largest == 70
    with connection.cursor() as cursor:
        cursor.execute("update runs_budget set since = since - interval '1 day'")
    used(unknowing)
    assert unknowing.largest == 35


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
