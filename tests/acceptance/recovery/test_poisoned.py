"""A run whose agent kills each worker that takes it ends, and the runs beside it go on."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.host import wait_for
from tests.acceptance.recovery.rounds import RESULT, Pair, pair
from tests.acceptance.recovery.twenty_effects import EFFECTS, lines

pytestmark = pytest.mark.slow
ATTEMPTS, BESIDE = 3, 6


@pytest.fixture
def workers() -> Iterator[Pair]:
    with pair() as both:
        yield both


def begin(workers: Pair, agent: str, folder: Path, **props: Any) -> str:
    folder.mkdir()
    run = workers.host.begin(agent, forwardedProps={"folder": str(folder), **props})
    return str(run["id"])


def test_a_run_that_kills_every_worker(workers: Pair, tmp_path: Path) -> None:
    host = workers.host
    with host.client() as client:
        bounds = {"recovery_attempts": ATTEMPTS, "recovery_pause": 0.1}
        assert client.patch("/api/v1/agents/poison", json=bounds).is_success
    effects = {"point": [EFFECTS, "never"], "kills": False, "policy": "retry", "pace": 3.0}
    others = {
        begin(workers, "twenty-effects", folder, seed=number, **effects): folder
        for number in range(BESIDE)
        if (folder := tmp_path / str(number))
    }
    poisoned = begin(workers, "poison", tmp_path / "poison")

    def over() -> bool:
        workers.revive()  # As a supervisor does.
        return bool(host.run(poisoned)["ended_at"])

    wait_for(over, "the end of the run that kills", 180)
    run, last = host.run(poisoned), host.events(poisoned)[-1]["event"]
    assert (run["status"], last["code"]) == ("failed", "worker_lost")
    assert f"{ATTEMPTS - 1} others before it" in last["message"]
    deaths = lines(tmp_path / "poison" / "deaths")
    assert [int(attempt) for (attempt,) in deaths] == list(range(1, ATTEMPTS + 1))
    for other, folder in others.items():
        assert host.wait_status(other, "succeeded", "failed")["status"] == "succeeded"
        assert host.events(other)[-1]["event"]["result"] == RESULT
        happened = Counter(effect for effect, _ in lines(folder / "happened"))
        assert sum(happened.values()) < EFFECTS + ATTEMPTS, "at most one for each death"
