"""One history: a host, a load, a nemesis, and the checker's verdict."""

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.acceptance.supervised import Supervised
from tests.histories.checker import Violation, check, read
from tests.histories.faults import Fault
from tests.histories.hosts import Place
from tests.histories.load import resting
from tests.histories.load.clients import Clients
from tests.histories.load.load import FED, Load, Size
from tests.histories.load.receiving import Receiver
from tests.histories.load.scheduling import Schedules
from tests.histories.nemesis import Nemesis
from tests.histories.recording import Recording
from tests.proxy import Proxy

PEOPLE = ("bob", "cyd")
LAST_DELIVERY = 120.0
Enough = Callable[[Counter[str]], bool]
"""Whether a history has enough lines, by kind, to end before its time."""


@dataclass
class Verdict:
    """What came of a history."""

    violations: list[Violation]
    counts: Counter[str]
    faults: Counter[str]
    refused: list[str]
    transports: Counter[str]
    dialects: Counter[str]
    statuses: Counter[str] = field(default_factory=Counter)


def keys(host: Supervised) -> dict[str, str]:
    """The keys of several people, the first one an admin's."""
    people = {"ann": host.key}
    with host.client() as client:
        for name in PEOPLE:
            answer = client.post("/api/v1/keys", json={"name": name})
            answer.raise_for_status()
            people[name] = answer.json()["key"]
    return people


def play(
    place: Place,
    path: Path,
    *,
    seed: int,
    seconds: float,
    size: Size,
    faults: dict[str, Fault],
    pause: tuple[float, float] = (1.0, 4.0),
    patience: float = 120.0,
    enough: Enough = lambda counts: False,
) -> Verdict:
    """Load and nemesis for some seconds, then rest; the history is in ``path``."""
    host = place.host
    with ExitStack() as stack:
        recording = stack.enter_context(Recording(path))
        ports = [host.port, *([place.other.port] if place.other else [])]
        proxies = [stack.enter_context(Proxy(("127.0.0.1", port))) for port in ports]
        receiver = stack.enter_context(Receiver(recording, random.Random(seed + 2)))
        client = stack.enter_context(host.client())
        recording.write("history", version=1, seed=seed)
        clients = Clients(
            [f"http://127.0.0.1:{proxy.port}" for proxy in proxies],
            keys(host),
            recording,
            random.Random(seed),
            may_lose=not place.synchronous,
        )
        client.post("/api/v1/agents", json={"slug": FED, "kind": "external"}).raise_for_status()
        receiver.subscribe(client)
        schedules = Schedules(client, clients.agent, seconds)
        nemesis = Nemesis(place, proxies, recording, random.Random(seed + 1))
        until = time.monotonic() + seconds

        def is_over() -> bool:
            return time.monotonic() >= until or enough(recording.counts)

        hurting = _Hurting(lambda: nemesis.work(is_over, faults, pause))
        load = Load(clients, size, lambda: is_over() and hurting.is_done.is_set())
        hurting.start()
        asyncio.run(load.work(patience))
        hurting.finish()
        schedules.finish()
        resting.wait(host)
        clients.last_moment = time.monotonic() + 60
        asyncio.run(load.read_whole_feed())
        receiver.wait_for_all(client, LAST_DELIVERY)
        runs = resting.rest(host, recording)
        schedules.write(recording)
        clients.refused += receiver.refused
    violations, counts = check(partial(read, path))
    transports, dialects = Counter[str](), Counter[str]()
    for line in read(path):
        if line["kind"] == "open":
            transports[line["transport"]] += 1
        elif line["kind"] == "text":
            dialects[line["dialect"]] += 1
    statuses = Counter(run["status"] for run in runs)
    fired, refused = nemesis.fired, clients.refused
    return Verdict(violations, counts, fired, refused, transports, dialects, statuses)


class _Hurting(threading.Thread):
    """A thread whose error is raised by ``finish``.

    It lives on after its work: servers that it has started die with the thread that started them.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(name="nemesis", daemon=True)
        self._work = work
        self._errors: list[BaseException] = []
        self.is_done = threading.Event()

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._errors.append(error)
        self.is_done.set()
        threading.Event().wait()

    def finish(self) -> None:
        assert self.is_done.wait(60), "the nemesis hangs"
        if self._errors:
            raise self._errors[0]
