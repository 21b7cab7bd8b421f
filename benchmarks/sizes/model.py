"""The model: a few figures of one machine, and how these add up.

Each constant is measured; its comment names the result. ``points`` predicts figures of *other*
results, and ``tests/acceptance/load/test_sizes.py`` bounds how far these are off.
"""

import json
import re
from dataclasses import dataclass
from math import ceil
from pathlib import Path

RESULTS = Path(__file__).parent.parent / "results"
START_PROFILE, START_COST = "2026-11-24-start-profile.txt", "2026-11-24-start-cost.txt"
PEERS, MEMORY = "2026-11-24-peers.json", "2026-11-24-memory.txt"

# Milliseconds of one core for a run of one delta, 10 at a time (start-profile).
RUN_CPU = {"postgres": 2.5, "valkey": 0.1, "web": 2.3, "worker": 2.4}
# The same of a client over bare sockets and of the kernel: the rest of two cores at 203 runs/s
# (peers, 10 at a time, bare sockets).
CLIENT_CPU = 2.5
# The same of httpx (4.2 to 4.4 ms, by processor time of the client, uncommitted).
HTTPX_CPU = 4.3
# Milliseconds of two cores for a delivered event, and for a run that streams, in addition: both
# from 100 runs × 500 and × 2,000 deltas (peers).
EVENT_WALL, STREAM_WALL = 0.0155, 2.5
# Megabytes of a process at rest, and of a reader that stopped reading (2026-11-21-memory: 185, 148
# to 162, and 79 for 50).
WEB_MB, WORKER_MB = 190.0, 160.0
STALLED_MB = 1.6
# Kilobytes of an idle reader over SSE in a fresh process, and of a subscription of one socket.
READER_KB, SUBSCRIPTION_KB = 43.0, 9.5
# Bytes on disk (``python -m benchmarks.sizes.disk``, disk).
EVENT_BYTES, RUN_BYTES = 308.3, 3046.0
# Connections to PostgreSQL with default settings: docs/operations.md.
WEB_CONNECTIONS, WORKER_CONNECTIONS = 26, 30
WORKER_PLACES = 200
# Cores are planned to be busy for this share at most, so that delays stay short.
BUSY = 0.6


@dataclass(frozen=True)
class Load:
    """What a deployment is asked to do at its peak."""

    runs_per_second: float
    events_per_second: float
    readers: int
    seconds_per_run: float = 30.0


@dataclass(frozen=True)
class Size:
    """What that takes."""

    cores: float
    webs: int
    workers: int
    memory_gb: float
    connections: int
    disk_gb_per_day: float


def size(load: Load) -> Size:
    """Cores by the cost of runs and events; a web process and a worker use one core each."""
    per_event = EVENT_WALL * 2 / 3  # ms of each: PostgreSQL, web, worker
    run, event = load.runs_per_second, load.events_per_second
    busy = {
        name: (run * RUN_CPU.get(name, 0.0) + event * per_event) / 1000
        for name in ("postgres", "web", "worker")
    }
    webs = max(1, ceil(busy["web"] / BUSY))
    # A worker has a number of places, and one core.
    live = run * load.seconds_per_run
    workers = max(1, ceil(busy["worker"] / BUSY), ceil(live / WORKER_PLACES))
    memory = webs * WEB_MB + workers * WORKER_MB + load.readers * READER_KB / 1000 + 512
    per_day = 86_400 * (event * EVENT_BYTES + run * RUN_BYTES)
    return Size(
        cores=sum(busy.values()) / BUSY,
        webs=webs,
        workers=workers,
        memory_gb=memory / 1000,
        connections=webs * WEB_CONNECTIONS + workers * WORKER_CONNECTIONS,
        disk_gb_per_day=per_day / 1e9,
    )


def runs_per_second(cores: int, client_cpu: float, run_cpu: float) -> float:
    """Whole short runs, with the client on the same cores."""
    return cores * 1000 / (run_cpu + client_cpu)


def delivered_per_second(runs: int, deltas: int) -> float:
    """Deltas that runs which begin at once deliver on two cores."""
    return runs * deltas / (runs * deltas * EVENT_WALL + runs * STREAM_WALL) * 1000


@dataclass(frozen=True)
class Point:
    """A measured figure and its prediction."""

    name: str
    unit: str
    predicted: float
    measured: float
    result: str

    @property
    def error(self) -> float:
        """How far the prediction is off, as a share of what was measured."""
        return self.predicted / self.measured - 1

    @property
    def line(self) -> str:
        """As text."""
        return (
            f"{self.name:<46} {self.predicted:>10,.1f} {self.measured:>10,.1f} {self.unit:<9}"
            f" {self.error:>+5.0%}  {self.result}"
        )


def figure(result: str, pattern: str) -> float:
    """The number that a result has at a place."""
    match = re.search(pattern, (RESULTS / result).read_text())
    assert match, (result, pattern)
    return float(match[1].replace(",", ""))


def points() -> list[Point]:
    """Figures of results that are not the source of the constant that predicts them."""
    run_cpu = sum(RUN_CPU.values())
    rows = {row["name"]: row["host"] for row in json.loads((RESULTS / PEERS).read_text())["rows"]}

    def middle(name: str) -> float:
        values = sorted(rows[name])
        half = len(values) // 2
        return float(values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2)

    all_points = [
        Point(
            f"whole runs, {at_once} at a time", "runs/s",
            runs_per_second(2, CLIENT_CPU, run_cpu),
            figure(START_COST, rf"whole runs, {at_once} at a time\s+([\d.]+) runs/s"), START_COST,
        )
        for at_once in (10, 50)
    ]  # fmt: skip
    name = "whole runs, {} at a time, httpx"
    all_points += [
        Point(
            name.format(at_once), "runs/s", runs_per_second(2, HTTPX_CPU, run_cpu),
            middle(name.format(at_once)), PEERS,
        )
        for at_once in (10, 50)
    ]  # fmt: skip
    for deltas in (2_000, 10_000):
        name = f"delivered, 20 runs × {deltas:,} deltas"
        predicted = delivered_per_second(20, deltas)
        all_points.append(Point(name, "events/s", predicted, middle(name), PEERS))
    memory = {"web": WEB_MB, "worker": WORKER_MB}
    for process, megabytes in memory.items():
        pattern = rf"{process}\s+(\d+) MB before"
        all_points.append(
            Point(f"memory of {process}", "MB", megabytes, figure(MEMORY, pattern), MEMORY)
        )
    stalled = figure(MEMORY, r"stalled readers: \+(\d+) MB")
    all_points.append(Point("50 stalled readers", "MB", 50 * STALLED_MB, stalled, MEMORY))
    return all_points
