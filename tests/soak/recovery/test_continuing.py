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
from tests.acceptance.recovery.rounds import KNOWN_AFTER, POLICIES, WITHIN, hurt, pair
from tests.acceptance.recovery.transports import followers
from tests.soak.recovery.yardstick import Yardstick

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7200)]
POINTS = int(os.environ.get("SOAK_POINTS", "1000"))
SECONDS = float(os.environ.get("SOAK_SECONDS", "inf"))
SEED = int(os.environ.get("SOAK_SEED", "100"))
FAULTS = ("kill", "kill", "term", "stop", "hole")
RUNS = 40
"""At once, on two workers."""


def test_hurt_at_a_thousand_points(tmp_path: Path) -> None:
    points: Counter[str] = Counter()
    rounds: Counter[str] = Counter()
    slowest: dict[str, float] = {}
    unverified: Counter[str] = Counter()
    repeated, slowest_machine, began = 0, 1.0, time.monotonic()
    with Yardstick(tmp_path / "yardstick") as yardstick, pair() as workers:
        while points.total() < POINTS and time.monotonic() - began < SECONDS:
            number = rounds.total()
            fault = FAULTS[number % len(FAULTS)]
            folder = tmp_path / str(number)
            begun = time.time()
            result = hurt(workers, folder, SEED + number, RUNS, fault, slowness=yardstick.slowness)
            slowest_machine = max(slowest_machine, yardstick.slowness(begun))
            points[fault] += len(result.delays)
            rounds[fault] += 1
            repeated += result.repeated
            unverified += result.unverified
            slowest[fault] = max(slowest.get(fault, 0.0), *result.delays)
            took = time.monotonic() - began
            print(f"{points.total()} points in {number + 1} faults, {took:.0f} s", flush=True)
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
            f"other work on the machine made everything take up to {slowest_machine:.1f} times as"
            f" long, and the {WITHIN:g} s from the host's notice on with it",
            f"{points.total()} seeded points: same run id, one terminal event, each finished effect"
            " made once; every second run is a plain function's, in a thread",
            "the histories' checker finds nothing in what readers by SSE and the socket received",
            f"readers of each run by {', '.join(followers.NAMES)}: each text and the end once, in"
            " order, and all events of the log, or all frames of a reader after the end (not A2A)",
            "runs cut within an effect, by their policy: "
            + ", ".join(f"{policy} {unverified[policy]}" for policy in POLICIES)
            + f"; {repeated} effects were made again",
        ],
    )
