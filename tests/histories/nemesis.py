"""Hurts a host, and the connections to it, in an order that a seed decides; never repairs it."""

import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from embedded import child
from tests.acceptance.host import wait_for
from tests.acceptance.supervised import Supervised
from tests.histories.recording import Recording
from tests.proxy import Proxy

Fault = Callable[["Nemesis"], None]

WORKER = r"agui_project run_worker"
WEB = r"web\.application:application"
VALKEY = r"valkey-server"
POSTMASTER = r"bin/postgres -D"
POSTGRES = rf"{POSTMASTER}|^postgres: "
"""Regular expressions for the command lines of the processes."""


class Nemesis:
    """Strikes until its time is over, and writes down when. Only ``up`` starts anything again."""

    def __init__(
        self, host: Supervised, proxy: Proxy, recording: Recording, chance: random.Random
    ) -> None:
        self.host, self.proxy, self.recording, self.chance = host, proxy, recording, chance
        self.fired: Counter[str] = Counter()

    def strike(self, name: str) -> None:
        self.recording.fault(name)
        FAULTS[name](self)
        self.fired[name] += 1

    def work(self, seconds: float, names: list[str], pause: tuple[float, float]) -> None:
        """Each of the names in turn, in a new order each time, with pauses in between.

        The first round is always a whole one.
        """
        until = time.monotonic() + seconds
        while True:
            for name in self.chance.sample(names, len(names)):
                time.sleep(self.chance.uniform(*pause))  # the moment of the fault
                if time.monotonic() >= until and self.fired.keys() == set(names):
                    return
                self.strike(name)

    def pids(self, pattern: str) -> set[int]:
        processes = self.host.pids().items()
        return {pid for pid, line in processes if re.search(pattern, line)}

    def kill(self, pattern: str) -> None:
        """By SIGKILL; returns when ``up`` has started others and the host is ready."""
        before = self.pids(pattern)
        assert before, f"no process is {pattern}"
        for pid in before:
            with suppress(ProcessLookupError):  # a child of one that was killed just now
                os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not any(map(child.alive, before)), f"{pattern} to be dead")
        wait_for(lambda: self.pids(pattern) - before, f"{pattern} to be started again")
        self.host.wait_ready()

    def freeze(self, pattern: str) -> None:
        """By SIGSTOP, for some seconds unless ``up`` kills them before."""
        pids = self.pids(pattern)
        assert pids, f"no process is {pattern}"
        for pid in pids:
            with suppress(ProcessLookupError):  # a session of PostgreSQL may end at any time
                os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: any(map(child.stands, pids)), f"{pattern} to be frozen", 5)
        time.sleep(self.chance.uniform(1, 8))  # the fault itself
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        wait_for(lambda: self.pids(pattern), f"{pattern} to be there")
        self.host.wait_ready()


def cut_readers(nemesis: Nemesis) -> None:
    """In the middle of a frame, most often: after any number of bytes that reach clients."""
    before = nemesis.proxy.fired
    nemesis.proxy.cut_after("to_client", nemesis.chance.randint(1, 4000))
    time.sleep(0.5)
    nemesis.proxy.cut_all()
    assert nemesis.proxy.fired > before


def cut_requests(nemesis: Nemesis) -> None:
    """In the middle of a request, or after it and before its answer."""
    before = nemesis.proxy.fired
    nemesis.proxy.cut_after("to_server", nemesis.chance.randint(1, 3000))
    wait_for(lambda: nemesis.proxy.fired > before, "a request to be cut")


FAULTS: dict[str, Fault] = {
    "worker killed": lambda nemesis: nemesis.kill(WORKER),
    "web killed": lambda nemesis: nemesis.kill(WEB),
    "Valkey killed": lambda nemesis: nemesis.kill(VALKEY),
    "PostgreSQL killed": lambda nemesis: nemesis.kill(POSTMASTER),
    "worker frozen": lambda nemesis: nemesis.freeze(WORKER),
    "web frozen": lambda nemesis: nemesis.freeze(WEB),
    "Valkey frozen": lambda nemesis: nemesis.freeze(VALKEY),
    "PostgreSQL frozen": lambda nemesis: nemesis.freeze(POSTGRES),
    "readers cut": cut_readers,
    "requests cut": cut_requests,
}
