"""Runs of twenty effects whose workers are killed, frozen, replaced and cut off at a thousand
points: SOAK_POINTS.

As ``tests/acceptance/recovery/test_continuing.py``, with a seed for each round.
"""

import os
import time
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.report import keep
from tests.acceptance.recovery.rounds import KNOWN_AFTER, WITHIN, hurt, pair
from tests.acceptance.recovery.transports import followers

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7200)]
POINTS = int(os.environ.get("SOAK_POINTS", "1000"))
SECONDS = float(os.environ.get("SOAK_SECONDS", "inf"))
SEED = int(os.environ.get("SOAK_SEED", "100"))
FAULTS = ("kill", "kill", "term", "stop", "hole")
RUNS = 24
"""At once, on two workers."""


def test_hurt_at_a_thousand_points(tmp_path: Path) -> None:
    points: Counter[str] = Counter()
    rounds: Counter[str] = Counter()
    slowest: dict[str, float] = {}
    repeated, began = 0, time.monotonic()
    with pair() as workers:
        while points.total() < POINTS and time.monotonic() - began < SECONDS:
            number = rounds.total()
            fault = FAULTS[number % len(FAULTS)]
            folder = tmp_path / str(number)
            result = hurt(workers, folder, SEED + number, RUNS, fault, follows=True)
            points[fault] += len(result.recoveries)
            rounds[fault] += 1
            repeated += result.repeated
            moments = [seconds for _, seconds in result.recoveries]
            slowest[fault] = max(slowest.get(fault, 0.0), *moments, 0.0)
            print(f"{points.total()} points in {number + 1} faults", flush=True)
    limits = dict.fromkeys(FAULTS, KNOWN_AFTER + WITHIN) | {"term": WITHIN}
    keep(
        "continuing-kills",
        [
            f"runs of twenty effects, {RUNS} at once, two workers,"
            f" seeds {SEED} to {SEED + rounds.total() - 1}",
            *(
                f"{fault:<5} {rounds[fault]:>4} faults, {points[fault]:>5} points, slowest"
                f" continuation after {slowest[fault]:.1f} s (bound {limits[fault]:g} s)"
                for fault in rounds
            ),
            f"{points.total()} points: same run id, one terminal event, each finished effect made"
            " once, gap-free for SSE and the socket",
            f"the first run of each round: every text once on {', '.join(followers.NAMES)}",
            f"{repeated} unverified effects were made again",
        ],
    )
