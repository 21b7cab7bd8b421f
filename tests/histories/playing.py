"""One history: a host, a load, a nemesis, and the checker's verdict."""

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.acceptance.supervised import FAST, Supervised
from tests.histories.checker import Violation, check, read
from tests.histories.load import resting
from tests.histories.load.clients import Clients
from tests.histories.load.load import Load, Size
from tests.histories.nemesis import Nemesis
from tests.histories.recording import Recording
from tests.proxy import Proxy

SETTINGS = {
    "AGUI_OUTBOUND_ALLOW": "127.0.0.1", "AGUI_WEBHOOK_TIMEOUT": "2", "AGUI_HEARTBEAT": "1",
    "AGUI_WORKER_LOST_AFTER": "6", "AGUI_REAP_EVERY": "1", "AGUI_SSE_HEARTBEAT": "2",
}  # fmt: skip
"""Deaths are noticed and silence is filled within seconds, so that a history is short."""


@dataclass
class Verdict:
    """What came of a history."""

    violations: list[Violation]
    counts: Counter[str]
    faults: Counter[str]
    refused: list[str]
    transports: Counter[str]
    statuses: Counter[str] = field(default_factory=Counter)


@contextmanager
def a_host(data: Path) -> Iterator[Supervised]:
    host = Supervised(data, **FAST | SETTINGS)
    try:
        yield host.start()
    finally:
        host.stop()


def play(
    host: Supervised,
    path: Path,
    *,
    seed: int,
    seconds: float,
    size: Size,
    faults: list[str],
    pause: tuple[float, float] = (1.0, 4.0),
    patience: float = 120.0,
) -> Verdict:
    """Load and nemesis for some seconds, then rest; the history is in ``path``."""
    with Recording(path) as recording, Proxy(("127.0.0.1", host.port)) as proxy:
        recording.write("history", version=1, seed=seed)
        url = f"http://127.0.0.1:{proxy.port}"
        clients = Clients(url, {"ann": host.key}, recording, random.Random(seed))
        nemesis = Nemesis(host, proxy, recording, random.Random(seed + 1))
        errors: list[BaseException] = []

        def hurt() -> None:
            try:
                nemesis.work(seconds, faults, pause)
            except BaseException as error:
                errors.append(error)

        hurting = threading.Thread(target=hurt, name="nemesis", daemon=True)
        load = Load(clients, size, hurting.is_alive)
        hurting.start()
        asyncio.run(load.work(seconds, patience))
        hurting.join(60)
        if errors:
            raise errors[0]
        assert not hurting.is_alive(), "the nemesis hangs"
        clients.last_moment = time.monotonic() + 60
        asyncio.run(load.read_whole_feed())
        runs = resting.rest(host, recording)
    violations, counts = check(partial(read, path))
    statuses = Counter(run["status"] for run in runs)
    transports = Counter(line["transport"] for line in read(path) if line["kind"] == "open")
    return Verdict(violations, counts, nemesis.fired, clients.refused, transports, statuses)
