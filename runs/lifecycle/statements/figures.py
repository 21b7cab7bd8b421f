"""The figures of a run, which are stored with its end: its work, time and cost."""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from agui_host import prices
from agui_host.prices import Prices
from agui_host.protocol.intake.tally import Tally

NAMES = (
    "tool_calls", "subagents", "tokens_in", "tokens_out", "tokens_cached", "cost", "questions",
    "queued_ms", "ttft_ms",
)  # fmt: skip
"""The columns, as they stand in the row of a run."""
MOST = 2**63 - 1
DEAREST = 1e12
COSTS = ("cost", "costUsd")


UNPRICED = Prices({})


def of(terminal: Mapping[str, Any], tally: Tally | None, team: Prices = UNPRICED) -> dict[str, Any]:
    """The columns' values; None where the run's events do not say it.

    ``tally``: None if this process has not seen all of the events. ``team`` has the prices for a
    usage without a cost.
    """
    usage = [entry for entry in terminal.get("usage") or [] if isinstance(entry, Mapping)]
    return {
        "tool_calls": tally.tools if tally else None,
        "subagents": tally.subagents if tally else None,
        "first": tally.first if tally else None,
        "answered": tally.answered.text if tally else None,
        "tokens_in": _sum(entry.get("inputTokens") for entry in usage),
        "tokens_out": _sum(entry.get("outputTokens") for entry in usage),
        "tokens_cached": _sum(entry.get("cachedInputTokens") for entry in usage),
        "cost": team.cost_of(usage) if (cost := _cost(terminal, usage)) is None else cost,
        "by_model": by_model(usage, team),
        "questions": _questions(terminal),
    }


def by_model(usage: Any, team: Prices = UNPRICED) -> list[dict[str, Any]] | None:
    """Tokens and cost of each of a run's models; None without any name of a model.

    Only for their shares: ``tokens_in``, ``cost`` and so on are the run's sums.
    """
    entries = prices.by_model(usage)
    if not any(entry["model"] for entry in entries):
        return None
    for entry in entries:
        reported = [
            each[name] for each in usage if isinstance(each, Mapping)
            and prices.model_name(str(each.get("model") or "")) == entry["model"]
            for name in COSTS if _is_cost(each.get(name))
        ]  # fmt: skip
        counts = entry["tokens_in"], entry["tokens_out"], entry["cached"]
        cost = sum(reported) if reported else team.cost(entry["model"], *counts)
        if cost is not None:
            entry["cost"] = cost
    return entries


def _is_cost(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 <= value <= DEAREST


def _questions(terminal: Mapping[str, Any]) -> int:
    outcome = terminal.get("outcome")
    interrupts = outcome.get("interrupts") if isinstance(outcome, Mapping) else None
    return len(interrupts) if isinstance(interrupts, list) else 0


def _sum(counts: Iterable[Any]) -> int | None:
    whole = [each for each in counts if isinstance(each, int) and not isinstance(each, bool)]
    total = sum(whole)
    return total if whole and 0 <= total <= MOST else None


def _cost(terminal: Mapping[str, Any], usage: list[Mapping[str, Any]]) -> float | None:
    """In US dollars, by the entries of ``usage`` or, for want of one there, by the result."""
    costs = [entry[name] for entry in usage for name in COSTS if name in entry]
    result = terminal.get("result")
    if not costs and isinstance(result, Mapping):
        costs = [result[name] for name in COSTS[1:] if name in result]
    numbers = [
        each for each in costs if isinstance(each, int | float) and not isinstance(each, bool)
    ]
    if not numbers or any(not 0 <= each <= DEAREST for each in numbers):
        return None
    total = float(sum(numbers))
    return total if isfinite(total) and total <= DEAREST else None
