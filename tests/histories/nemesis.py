"""Hurts the connections between clients and a host, in an order that a seed decides."""

import random
import time
from collections import Counter
from collections.abc import Callable

from tests.histories.recording import Recording
from tests.proxy import Proxy

Fault = Callable[["Nemesis"], None]


class Nemesis:
    """Strikes until its time is over, and writes down when."""

    def __init__(self, proxy: Proxy, recording: Recording, chance: random.Random) -> None:
        self.proxy, self.recording, self.chance = proxy, recording, chance
        self.fired: Counter[str] = Counter()

    def strike(self, name: str) -> None:
        self.recording.fault(name)
        FAULTS[name](self)
        self.fired[name] += 1

    def work(self, seconds: float, names: list[str], pause: tuple[float, float]) -> None:
        """Each of the names in turn, in a new order each time, with pauses in between."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for name in self.chance.sample(names, len(names)):
                time.sleep(self.chance.uniform(*pause))  # the moment of the fault
                if time.monotonic() >= until:
                    return
                self.strike(name)


def cut_readers(nemesis: Nemesis) -> None:
    """In the middle of a frame, most often: after any number of bytes that reach clients."""
    before = nemesis.proxy.fired
    nemesis.proxy.cut_after("to_client", nemesis.chance.randint(1, 4000))
    time.sleep(0.5)
    nemesis.proxy.cut_all()
    assert nemesis.proxy.fired > before


def cut_requests(nemesis: Nemesis) -> None:
    """In the middle of a request, or after it and before its answer."""
    nemesis.proxy.cut_after("to_server", nemesis.chance.randint(1, 3000))
    time.sleep(0.5)


FAULTS: dict[str, Fault] = {"readers cut": cut_readers, "requests cut": cut_requests}
