"""The figures of a run, which are stored with its end: its work, time and cost."""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from agui_host.protocol.intake.tally import Tally
from runs.lifecycle.budgets import prices

NAMES = ("tool_calls", "subagents", "tokens_in", "tokens_out", "cost", "queued_ms", "ttft_ms")
"""The columns, as they stand in the row of a run."""
MOST = 2**63 - 1
DEAREST = 1e12
COSTS = ("cost", "costUsd")


def of(terminal: Mapping[str, Any], tally: Tally | None) -> dict[str, Any]:
    """The columns' values; None where the run's events do not say it.

    ``tally``: None if this process has not seen all of the events.
    """
    usage = [entry for entry in terminal.get("usage") or [] if isinstance(entry, Mapping)]
    return {
        "tool_calls": tally.tools if tally else None,
        "subagents": tally.subagents if tally else None,
        "first": tally.first if tally else None,
        "tokens_in": _sum(entry.get("inputTokens") for entry in usage),
        "tokens_out": _sum(entry.get("outputTokens") for entry in usage),
        "cost": _cost(terminal, usage),
    }


def _sum(counts: Iterable[Any]) -> int | None:
    whole = [each for each in counts if isinstance(each, int) and not isinstance(each, bool)]
    total = sum(whole)
    return total if whole and 0 <= total <= MOST else None


def _cost(terminal: Mapping[str, Any], usage: list[Mapping[str, Any]]) -> float | None:
    """In US dollars, by the entries of ``usage`` or, for want of one there, by the result."""
    costs = [entry[name] for entry in usage for name in COSTS if name in entry]
    if usage and not costs and not _of_result(terminal):
        costs = [price for entry in usage if (price := prices.cost_of(entry)) is not None]
    costs = costs or _of_result(terminal)
    numbers = [
        each for each in costs if isinstance(each, int | float) and not isinstance(each, bool)
    ]
    if not numbers or any(not 0 <= each <= DEAREST for each in numbers):
        return None
    total = float(sum(numbers))
    return total if isfinite(total) and total <= DEAREST else None


def _of_result(terminal: Mapping[str, Any]) -> list[Any]:
    result = terminal.get("result")
    if not isinstance(result, Mapping):
        return []
    return [result[name] for name in COSTS[1:] if name in result]
