"""Prices of models in US dollars for a million tokens, and the cost of a run by them.

Agents often report tokens without their cost; then the host works it out. ``AGUI_PRICES`` has the
operator's prices, and a team's owners can set their own (docs/howto-usage.md).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

MILLION = 1_000_000
LONGEST_MODEL = 100
DEAREST = 1_000_000.0
MOST_MODELS = 20
"""Entries of one run's usage; the tokens of further ones count under no model."""
_ENTRY = re.compile(r"([^=\s,]+)\s*=\s*([\d.]+)\s*/\s*([\d.]+)(?:\s*/\s*([\d.]+))?")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_COUNTS = {"tokens_in": "inputTokens", "tokens_out": "outputTokens", "cached": "cachedInputTokens"}
_MOST_TOKENS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens; ``cached`` None: cached tokens cost as much as others."""

    input: float
    output: float
    cached: float | None = None

    def cost(self, tokens_in: int, tokens_out: int, cached: int = 0) -> float:
        """The cost of these tokens; the ``cached`` ones are among ``tokens_in``."""
        tokens_in, tokens_out = max(0, tokens_in), max(0, tokens_out)
        cached = max(0, min(cached, tokens_in))
        dearer = self.input if self.cached is None else self.cached
        total = (tokens_in - cached) * self.input + cached * dearer + tokens_out * self.output
        return total / MILLION


class Prices:
    """Prices by model; a name that ends in ``*`` is for all models that begin like it."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = dict(prices)
        patterns = [name for name in prices if name.endswith("*")]
        self._beginnings = sorted((name[:-1] for name in patterns), key=len, reverse=True)

    def of(self, model: str) -> Price | None:
        """The price of a model: by its name, else by the longest beginning; None without one."""
        if (exact := self._prices.get(model)) is not None:
            return exact
        for beginning in self._beginnings:
            if model.startswith(beginning):
                return self._prices[f"{beginning}*"]
        return None

    def cost(self, model: str, tokens_in: int, tokens_out: int, cached: int = 0) -> float | None:
        """The cost of a model's tokens; None for a model without a price."""
        price = self.of(model)
        return None if price is None else price.cost(tokens_in, tokens_out, cached)

    def cost_of(self, usage: Any) -> float | None:
        """The cost of a run's ``usage``; None without tokens, or if a model has no price."""
        entries = [entry for entry in by_model(usage) if entry["tokens_in"] or entry["tokens_out"]]
        costs = [
            self.cost(entry["model"], entry["tokens_in"], entry["tokens_out"], entry["cached"])
            for entry in entries
        ]
        priced = [cost for cost in costs if cost is not None]
        return sum(priced) if entries and len(priced) == len(costs) else None

    def items(self) -> list[tuple[str, Price]]:
        """Names and prices, as they were given."""
        return list(self._prices.items())

    def __or__(self, other: "Prices") -> "Prices":
        """Both; where both have a name, the price of the ``other``."""
        return Prices(self._prices | other._prices)


def by_model(usage: Any) -> list[dict[str, Any]]:
    """A run's ``usage`` with one entry for each model: ``model``, ``tokens_in`` and so on.

    ``usage`` is the terminal event's list as the agent sent it. Names are cut and cleaned, counts
    that are no counts are 0. The tokens of all models beyond the first twenty have no model.
    """
    sums: dict[str, dict[str, int]] = {}
    for entry in usage if isinstance(usage, list) else ():
        if not isinstance(entry, Mapping):
            continue
        name = entry.get("model")
        model = model_name(name) if isinstance(name, str) else ""
        if model not in sums and len(sums) >= MOST_MODELS:
            model = ""
        counts = sums.setdefault(model, dict.fromkeys(_COUNTS, 0))
        for ours, theirs in _COUNTS.items():
            counts[ours] += count(entry.get(theirs)) or 0
    return [{"model": model, **counts} for model, counts in sums.items()]


def model_name(text: str) -> str:
    """The name of a model as it is stored: short, and of characters that a database takes."""
    return _UNPRINTABLE.sub("", text)[:LONGEST_MODEL].strip()


def parse(entries: Iterable[str]) -> Prices:
    """Prices from ``gpt-5=1.25/10/0.125``: input, output and cached. Raises ValueError."""
    prices: dict[str, Price] = {}
    for text in entries:
        match = _ENTRY.fullmatch(text.strip())
        if match is None or len(match[1]) > LONGEST_MODEL:
            raise ValueError("write model=input/output or model=input/output/cached")
        prices[match[1]] = Price(*(_dollars(part) for part in match.groups()[1:]))  # type: ignore[arg-type]
    return Prices(prices)


def check(entry: str) -> None:
    """A rule for a setting: raises ValueError with the remedy."""
    parse([entry])


def _dollars(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= DEAREST or not isfinite(number):
        raise ValueError(f"write dollars for a million tokens, from 0 to {DEAREST:,.0f}")
    return number


def count(value: Any) -> int | None:
    """A count of tokens; None for anything else."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and abs(value) <= _MOST_TOKENS else None
