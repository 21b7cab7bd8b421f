"""Runs of twenty effects whose workers are killed at a thousand points: SOAK_POINTS.

As ``tests/acceptance/recovery/test_continuing.py``, with a seed for each round.
"""

import os
from pathlib import Path

import pytest

from tests.acceptance.recovery.rounds import KNOWN_AFTER, WITHIN, Round, continued_after, pair

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7200)]
POINTS = int(os.environ.get("SOAK_POINTS", "1000"))
SEED = int(os.environ.get("SOAK_SEED", "100"))
RUNS = 20


def test_killed_at_a_thousand_points(tmp_path: Path) -> None:
    hit, repeated, moments, rounds = 0, 0, [], 0
    with pair() as workers:
        while hit < POINTS:
            workers.revive()
            runs = Round(workers.host, tmp_path / str(rounds), SEED + rounds, RUNS, kills=True)
            killed_at = runs.wait_for_the_kill()
            logs = runs.ended()
            recoveries = [each for log in logs if (each := continued_after(log, killed_at))]
            assert continued_after(logs[0], killed_at), "the fault has fired"
            repeated += sum(runs.check_effects(most_repeated=1).values())
            moments += [seconds for _, seconds in recoveries]
            hit, rounds = hit + len(recoveries), rounds + 1
            print(f"{hit} points in {rounds} kills, {repeated} unverified effects repeated, "
                  f"slowest {max(moments):.1f} s", flush=True)  # fmt: skip
    assert max(moments) < KNOWN_AFTER + WITHIN
