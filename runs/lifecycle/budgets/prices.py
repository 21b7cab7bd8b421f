"""The cost of tokens by the operator's prices; costs that an agent reports itself come first."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

MILLION = 1_000_000


def price(
    prices: Mapping[str, float], tokens_in: int, tokens_out: int, tokens_cached: int = 0
) -> float:
    """Dollars, by prices per million: ``in``, ``out`` and ``cached`` (without it, as ``in``).

    ``tokens_cached`` are part of ``tokens_in``. A negative count costs nothing.
    """
    cached = min(max(tokens_cached, 0), max(tokens_in, 0))
    uncached = max(tokens_in, 0) - cached
    per_cached = prices.get("cached", prices["in"])
    total = uncached * prices["in"] + cached * per_cached + max(tokens_out, 0) * prices["out"]
    return total / MILLION


def cost_of(entry: Mapping[str, Any]) -> float | None:
    """The cost of one entry of a run's usage; None for a model without a price."""
    prices = settings.AGUI_MODEL_PRICES.get(str(entry.get("model")))
    if prices is None:
        return None
    names = ("inputTokens", "outputTokens", "cachedInputTokens")
    counts = [entry.get(name) for name in names]
    return price(prices, *(count if type(count) is int else 0 for count in counts))
