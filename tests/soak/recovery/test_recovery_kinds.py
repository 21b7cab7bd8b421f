"""Runs of each kind of agent whose worker is hurt at fifty seeded points: SOAK_POINTS.

As ``tests/acceptance/recovery/kinds/test_killed.py``, with a seed for each run.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.report import keep
from tests.acceptance.host import Host
from tests.acceptance.recovery.kinds.killing import EVENTS, FAULTS, check, two_hosts

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7200)]
POINTS = int(os.environ.get("SOAK_POINTS", "50"))
SECONDS = float(os.environ.get("SOAK_SECONDS", "inf"))
SEED = int(os.environ.get("SOAK_SEED", "100"))
RUNS = 5
"""At once, each at another point when the worker is hurt."""


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with two_hosts() as first:
        yield first


@pytest.fixture(scope="module")
def lines() -> Iterator[list[str]]:
    lines: list[str] = []
    yield lines
    keep("recovery-kinds", lines)


@pytest.mark.parametrize("kind", EVENTS)
def test_recovery_of(host: Host, tmp_path: Path, lines: list[str], kind: str) -> None:
    points: Counter[str] = Counter()
    number, began = 0, time.monotonic()
    while points.total() < POINTS and time.monotonic() - began < SECONDS:
        fault = FAULTS[kind][number % len(FAULTS[kind])]
        seed = SEED + RUNS * number
        points[fault] += check(host, kind, seed, tmp_path / str(number), fault, RUNS)
        number += 1
        print(f"{kind}: {points.total()} points in {number} faults", flush=True)
        assert number < 3 * POINTS, "most faults come before the end of a run"
    counts = ", ".join(f"{points[fault]} {fault}" for fault in FAULTS[kind])
    lines.append(
        f"{kind:<12} {points.total():>4} points in {number} faults: {counts};"
        f" seeds {SEED} to {SEED + RUNS * number - 1};"
        " one log, one end, no finished tool called again"
    )
