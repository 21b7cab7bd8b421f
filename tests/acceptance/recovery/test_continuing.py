"""A worker is killed, frozen or stopped in the middle of runs of twenty effects.

Each run ends under its id, in its log, with every finished effect made once; readers that were
connected see one stream. ``tests/soak/test_continuing.py`` does it a thousand times.
"""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.host import wait_for
from tests.acceptance.recovery.rounds import KNOWN_AFTER, WITHIN, Pair, Round, continued_after, pair

pytestmark = pytest.mark.slow
RUNS = 10


@pytest.fixture(scope="module")
def workers() -> Iterator[Pair]:
    with pair() as both:
        yield both


@pytest.mark.parametrize("seed", [1, 2])
def test_killed(workers: Pair, tmp_path: Path, seed: int) -> None:
    """By the first run, at a point that the seed names; the others are anywhere."""
    workers.revive()
    runs = Round(workers.host, tmp_path, seed, RUNS, kills=True)
    moment = runs.wait_for_the_kill()
    logs = runs.ended()
    recoveries = [continued_after(log, moment) for log in logs]
    assert recoveries[0] is not None, "the fault has fired"
    for continued in filter(None, recoveries):
        assert continued[0] == "worker_lost"
        assert continued[1] < KNOWN_AFTER + WITHIN
    runs.check_effects(most_repeated=1)


def test_stopped_by_a_deploy(workers: Pair, tmp_path: Path) -> None:
    """Within seconds, although AGUI_WORKER_GRACE is two minutes, and no effect is repeated."""
    workers.revive()
    runs = Round(workers.host, tmp_path, 3, RUNS, kills=False)
    left = workers.process(runs.wait_for_the_middle())
    moment = time.time()
    left.send_signal(signal.SIGTERM)
    wait_for(lambda: left.poll() is not None, "the worker to leave", 20)
    recoveries = [each for log in runs.ended() if (each := continued_after(log, moment))]
    assert recoveries, "the fault has fired"
    assert {reason for reason, _ in recoveries} == {"shutdown"}
    assert max(seconds for _, seconds in recoveries) < WITHIN
    runs.check_effects(most_repeated=0)


def test_frozen(workers: Pair, tmp_path: Path) -> None:
    """What the worker still does when it wakes up does not count."""
    workers.revive()
    runs = Round(workers.host, tmp_path, 4, RUNS, kills=False)
    frozen = workers.process(runs.wait_for_the_middle())
    moment = time.time()
    frozen.send_signal(signal.SIGSTOP)
    try:
        logs = runs.ended()
    finally:
        frozen.send_signal(signal.SIGCONT)
    recoveries = [each for log in logs if (each := continued_after(log, moment))]
    assert recoveries, "the fault has fired"
    assert max(seconds for _, seconds in recoveries) < KNOWN_AFTER + WITHIN
    runs.check_effects(most_repeated=1)
    wait_for(lambda: frozen.poll() is not None, "the pruned worker to leave", 60)
    assert all(
        [frame["event"] for frame in workers.host.events(run)] == log
        for run, log in zip(runs.ids, logs, strict=True)
    )
