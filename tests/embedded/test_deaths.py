"""A worker that died: its supervisor learns which one it was, and ends its registration at once."""

import os
import signal
import sys
from collections.abc import Callable

import pytest
from django.db import OperationalError, connection

from agui_host.embedded import child, supervisor
from agui_host.embedded.liveness import Pulse, pulse_of
from agui_host.embedded.management import deaths
from agui_host.embedded.supervisor import Job, Supervisor
from runs.worker import reaper
from tests.cast import Cast, bell, cast, fresh
from tests.runs.worker.test_reaper import lost, run_on, worker

__all__ = ["bell", "cast", "worker"]

# A worker as the supervisor sees it: pulses with a registration, and an end at SIGTERM.
BEATING = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(int(sys.argv[2])))
pipe = int(sys.argv[-1])
while True:
    os.write(pipe, b"<%d>" % int(sys.argv[1]))
    time.sleep(0.05)
"""


def beating(registration: int, code: int = 0) -> Job:
    command = [sys.executable, "-c", BEATING, str(registration), str(code)]
    return Job("worker", command, signal.SIGTERM, 1.0, signs=Pulse)


class Watched:
    """A supervisor of one such worker, and the deaths that it has reported."""

    def __init__(self, job: Job, liveness: float = 60.0) -> None:
        self.job, self.messages, self.dead = job, list[str](), list[int]()
        self.supervisor = Supervisor(
            [job], self.messages.append, liveness=liveness, on_death=self.dead.append
        )
        self.supervisor.start()
        self.until(lambda: job.sign is not None and job.sign.registration is not None)

    @property
    def pid(self) -> int:
        assert self.job.process is not None
        return self.job.process.pid

    def until(self, done: Callable[[], bool]) -> None:
        def look() -> bool:
            self.supervisor.run_once()
            return done()

        assert child.wait_until(look, 20), "it did not happen within 20 s"


def test_a_killed_worker_is_named() -> None:
    watched = Watched(beating(7))
    os.kill(watched.pid, signal.SIGKILL)
    watched.until(lambda: bool(watched.dead))
    assert watched.dead == [7]
    watched.until(lambda: watched.job.process is not None)
    assert watched.job.sign is not None
    assert watched.job.sign.registration is None, "the next one has yet to register"
    watched.supervisor.stop()
    assert watched.dead == [7]


@pytest.mark.parametrize(("code", "dead"), [(0, []), (76, [7])], ids=["leaves", "gives up"])
def test_a_worker_that_ends_by_itself(code: int, dead: list[int]) -> None:
    """One that leaves as it should has ended its registration."""
    watched = Watched(beating(7, code))
    os.kill(watched.pid, signal.SIGTERM)
    watched.until(lambda: bool(watched.messages))
    assert watched.dead == dead
    watched.supervisor.stop()


def test_a_worker_that_is_late_at_the_stop() -> None:
    watched = Watched(beating(7))
    os.kill(watched.pid, signal.SIGSTOP)  # SIGTERM does not reach it
    watched.supervisor.stop()
    assert watched.dead == [7]


def test_a_stopped_worker_is_killed_long_before_a_silent_one() -> None:
    watched = Watched(beating(7))
    process = watched.job.process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    watched.until(lambda: bool(watched.dead))
    assert process.returncode == -signal.SIGKILL
    assert watched.job.silence < 20
    (line,) = watched.messages
    assert line.startswith("worker gave no sign of life for 1 s and was killed")
    watched.supervisor.stop()


@pytest.mark.parametrize("liveness", [0.0, 60.0], ids=["nothing is killed", "it continues in time"])
def test_a_worker_that_was_stopped_for_a_moment(liveness: float) -> None:
    watched = Watched(beating(7), liveness)
    pid, elapsed = watched.pid, supervisor.LONGEST_STOP / 2
    os.kill(pid, signal.SIGSTOP)
    assert child.wait_until(lambda: child.stands(pid), 5)
    for _ in range(4 if not liveness else 2):
        watched.supervisor._look(watched.job, elapsed)
    assert watched.job.process is not None
    os.kill(pid, signal.SIGCONT)
    assert child.wait_until(lambda: not child.stands(pid), 5)
    watched.supervisor._look(watched.job, elapsed)
    assert (watched.job.stood, watched.dead) == (0.0, [])
    watched.supervisor.stop()
    assert watched.dead == []


def test_a_pulse_carries_the_registration() -> None:
    pulse = Pulse()
    writer = pulse.fds[0]
    assert not pulse.beat()
    os.write(writer, pulse_of(None))
    assert (pulse.beat(), pulse.registration) == (True, None)
    for number in (12, 345):
        os.write(writer, pulse_of(number))
    assert (pulse.beat(), pulse.registration) == (True, 345)
    os.write(writer, pulse_of(None))
    assert (pulse.beat(), pulse.registration) == (True, 345)
    pulse.begin()
    pulse.end()


@pytest.mark.django_db(transaction=True)
def test_it_is_buried_although_the_database_is_away_at_first(
    cast: Cast, worker: int, bell: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_on(worker, cast)
    bury, tries = reaper.bury, list[int]()

    def away_once(worker_id: int) -> object:
        tries.append(worker_id)
        if len(tries) == 1:
            raise OperationalError("away")
        return bury(worker_id)

    monkeypatch.setattr(reaper, "bury", away_once)
    monkeypatch.setattr(deaths, "PAUSES", (0.0,))
    deaths.bury(worker)
    assert deaths.settle(20)
    assert tries == [worker] * 2
    assert lost(fresh(run))
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from runs_worker where id = %s", [worker])
        assert cursor.fetchone()[0] == 0
