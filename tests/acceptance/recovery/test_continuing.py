"""A worker is killed, frozen, stopped or cut off in the middle of runs of twenty effects.

Each run ends under its id, in its log, with every finished effect made once; readers that were
connected see one stream. ``tests/soak/recovery/test_continuing.py`` does it a thousand times.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.recovery.rounds import Pair, hurt, pair

pytestmark = pytest.mark.slow
RUNS = 10


@pytest.fixture(scope="module")
def workers() -> Iterator[Pair]:
    with pair() as both:
        yield both


@pytest.mark.parametrize("seed", [1, 2])
def test_killed(workers: Pair, tmp_path: Path, seed: int) -> None:
    """By the first run, at a point that the seed names; each other run stands at its own."""
    hurt(workers, tmp_path, seed, RUNS, "kill")


def test_stopped_by_a_deploy(workers: Pair, tmp_path: Path) -> None:
    """Within seconds, although AGUI_WORKER_GRACE is two minutes, and no effect is repeated."""
    hurt(workers, tmp_path, 3, RUNS, "term")


def test_frozen(workers: Pair, tmp_path: Path) -> None:
    """What the worker still does when it wakes up does not count."""
    hurt(workers, tmp_path, 4, RUNS, "stop")


def test_cut_off(workers: Pair, tmp_path: Path) -> None:
    """From both engines, by a network that swallows everything; it leaves when that is over."""
    hurt(workers, tmp_path, 5, RUNS, "hole")
