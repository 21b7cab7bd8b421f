"""The cost of a run by the tokens that its agent reports."""

from typing import Any

import pytest

from agui_host import prices
from agui_host.prices import Price

PRICES = prices.parse(["gpt-5=2/10/0.5", "gpt-*=1/4", "gpt-5-mini*=0.25/2", "free=0/0"])


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gpt-5", Price(2, 10, 0.5)),
        ("gpt-5-pro", Price(1, 4)),
        ("gpt-5-mini-2025", Price(0.25, 2)),
        ("gpt-", Price(1, 4)),
        ("claude", None),
        ("", None),
    ],
)
def test_the_name_comes_first_then_the_longest_beginning(model: str, price: Price | None) -> None:
    assert PRICES.of(model) == price


def test_cached_tokens_have_a_price_of_their_own() -> None:
    assert PRICES.cost("gpt-5", 1_000_000, 100_000, 400_000) == pytest.approx(1.2 + 0.2 + 1)
    assert PRICES.cost("gpt-x", 1_000_000, 0, 400_000) == pytest.approx(1)
    assert PRICES.cost("gpt-5", 10, 0, 50) == pytest.approx(10 * 0.5 / 1e6), "never more than all"
    assert PRICES.cost("claude", 10, 10) is None
    assert PRICES.cost("gpt-5", -10, -10, -10) == 0


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ([{"model": "gpt-5", "inputTokens": 1000, "outputTokens": 100}], 0.003),
        ([{"model": "gpt-5", "inputTokens": 500}, {"model": "gpt-x", "inputTokens": 1000}], 0.002),
        ([{"model": "gpt-5", "inputTokens": 500}, {"model": "claude", "inputTokens": 1}], None),
        ([{"model": "gpt-5", "inputTokens": 500}, {"model": "claude", "totalTokens": 1}], 0.001),
        ([{"model": "free", "inputTokens": 500}], 0),
        ([{"inputTokens": 500}], None),
        ([{"model": "gpt-5"}], None),
        ([], None),
        ("nonsense", None),
        ([7, {"model": ["gpt-5"], "inputTokens": True}], None),
    ],
)
def test_the_cost_of_a_usage(usage: Any, cost: float | None) -> None:
    assert PRICES.cost_of(usage) == (None if cost is None else pytest.approx(cost))


def test_a_teams_price_replaces_the_hosts() -> None:
    both = PRICES | prices.parse(["gpt-5=20/100"])
    assert both.of("gpt-5") == Price(20, 100)
    assert both.of("gpt-7") == Price(1, 4)


def test_models_are_few_and_their_names_can_be_stored() -> None:
    usage = [{"model": f"m{n}", "inputTokens": 1} for n in range(50)]
    entries = prices.by_model([*usage, {"model": "a\0\ud800b" + "c" * 200, "outputTokens": 2}])
    assert len(entries) == prices.MOST_MODELS + 1
    assert sum(entry["tokens_in"] for entry in entries) == 50
    assert sum(entry["tokens_out"] for entry in entries) == 2
    (entry,) = prices.by_model([{"model": "a\0\ud800b" + "c" * 200, "outputTokens": 2}])
    assert entry["model"] == "ab" + "c" * 98
