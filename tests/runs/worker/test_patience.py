"""Nobody is judged by a heartbeat that an outage, or a sleeping machine, has made old."""

import pytest
from pytest_django import Settings

from runs.worker.patience import Patience, looking_every

GRACE = 3 + 4 + 1


class Machine:
    """A process whose time is moved by hand; asleep, only the wall's goes on."""

    def __init__(self, settings: Settings) -> None:
        settings.AGUI_HEARTBEAT, settings.AGUI_WORKER_LOST_AFTER = 3.0, 20.0
        settings.AGUI_REAP_EVERY = 10.0
        self.now, self.asleep = 1000.0, 0.0
        self.patience = Patience(lambda: self.now, lambda: self.now + self.asleep)

    def judges(self, *, after: float, slept: float = 0.0) -> bool:
        self.now += after
        self.asleep += slept
        return self.patience.may_judge()


@pytest.fixture
def machine(settings: Settings) -> Machine:
    machine = Machine(settings)
    assert not machine.judges(after=0), "the process has just started"
    assert not machine.judges(after=GRACE - 0.1)
    assert machine.judges(after=0.1)
    return machine


@pytest.mark.parametrize("away", [{"after": 18}, {"after": 1, "slept": 3600}], ids=str)
def test_after_an_outage_workers_get_time_to_beat(machine: Machine, away: dict[str, float]) -> None:
    assert not machine.judges(**away)
    assert not machine.judges(after=GRACE - 0.1)
    assert machine.judges(after=0.1)


def test_looks_in_their_rhythm_judge(machine: Machine, settings: Settings) -> None:
    assert all(machine.judges(after=looking_every()) for _ in range(10))
    settings.AGUI_REAP_EVERY = 3600.0
    assert all(machine.judges(after=looking_every()) for _ in range(10)), "they never stop"
