"""Hurts a host, and the connections to it, in an order that a seed decides; never repairs it."""

import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from agui_host.embedded import child
from tests.acceptance.host import wait_for
from tests.histories.hosts import Place
from tests.histories.recording import Recording
from tests.proxy import Proxy


class Nemesis:
    """Strikes until its time is over, and writes down when. Only ``up`` starts anything again."""

    def __init__(
        self, place: Place, proxies: list[Proxy], recording: Recording, chance: random.Random
    ) -> None:
        self.place, self.host = place, place.host
        self.proxies, self.recording, self.chance = proxies, recording, chance
        self.fired: Counter[str] = Counter()

    def strike(self, name: str, fault: Callable[["Nemesis"], None]) -> None:
        """Raises AssertionError if the fault did not fire."""
        self.recording.fault(name)
        fault(self)
        self.fired[name] += 1

    def work(
        self,
        is_over: Callable[[], bool],
        faults: dict[str, Callable[["Nemesis"], None]],
        pause: tuple[float, float],
    ) -> None:
        """Each of the faults in turn, in a new order each time, with pauses in between.

        The first round is always a whole one.
        """
        while True:
            for name in self.chance.sample(list(faults), len(faults)):
                time.sleep(self.chance.uniform(*pause))  # the moment of the fault
                if is_over() and self.fired.keys() == faults.keys():
                    return
                self.strike(name, faults[name])
            if is_over():
                return

    @property
    def proxy(self) -> Proxy:
        return self.chance.choice(self.proxies)

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
