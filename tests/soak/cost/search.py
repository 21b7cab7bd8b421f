"""Looks for the dearest input of a subject, for a while."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis import strategies as st

from tests.soak.cost.clock import memory, of_loop, slowness

Made = Callable[[], Awaitable[Any]]
ROUND = 25
"""Inputs of one round; between rounds the search looks at the clock."""


@dataclass(slots=True)
class Worst:
    """``loop`` in seconds of the reference machine, ``memory`` in bytes; ``of`` are the inputs."""

    subject: str
    tried: int = 0
    loop: float = 0.0
    memory: int = 0
    loop_input: Any = None
    memory_input: Any = None

    def line(self) -> str:
        """A row of the committed table."""
        return (
            f"{self.subject:<58} {self.tried:>6} {self.loop * 1000:>7.1f} ms"
            f" {self.memory / 1e6:>6.1f} MB  {_short(self.loop_input)}"
        )


def search(
    subject: str,
    inputs: st.SearchStrategy[Any],
    make: Callable[[Any], Made],
    runner: asyncio.Runner,
    seconds: float,
) -> Worst:
    """The dearest of the inputs that Hypothesis finds in that time; at least one round."""
    worst, until, seed = Worst(subject), time.monotonic() + seconds, 0

    def attempt(value: Any) -> None:
        cost = of_loop(runner, make(value)).loop / slow
        if cost > max(worst.loop, 0.002):
            cost = min(cost, of_loop(runner, make(value)).loop / slow)  # the first run imports
        worst.tried += 1
        if cost >= worst.loop:
            worst.loop, worst.loop_input = cost, value
        if worst.tried % 5 == 0 or cost == worst.loop:
            size = memory(runner, make(value))
            if size >= worst.memory:
                worst.memory, worst.memory_input = size, value
        target(cost, label="loop")

    while seed == 0 or time.monotonic() < until:
        slow = max(1.0, slowness())
        seed += 1
        quiet = settings(
            max_examples=ROUND, deadline=None, database=None, phases=(Phase.generate, Phase.target),
            suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
        )  # fmt: skip
        hypothesis.seed(seed)(quiet(given(inputs)(attempt)))()
    return worst


def _short(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 100 else f"{text[:80]} … {len(text)} characters"
