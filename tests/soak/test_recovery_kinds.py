"""Runs of each kind of agent whose worker is killed at fifty seeded points: SOAK_POINTS.

As ``tests/acceptance/recovery/kinds/test_killed.py``, with a seed for each run.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.host import Host
from tests.acceptance.recovery.kinds.killing import EVENTS, check, two_hosts

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7200)]
POINTS = int(os.environ.get("SOAK_POINTS", "50"))
SEED = int(os.environ.get("SOAK_SEED", "100"))


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with two_hosts() as first:
        yield first


@pytest.mark.parametrize("kind", EVENTS)
def test_recovery_of(host: Host, tmp_path: Path, kind: str) -> None:
    hit, seed = 0, SEED
    while hit < POINTS:
        hit += check(host, kind, seed, tmp_path / str(seed))
        seed += 1
        assert seed - SEED < 3 * POINTS, "most kills come before the end of a run"
    print(f"{kind}: {hit} points in {seed - SEED} kills", flush=True)
