"""A host that is measured cell by cell, as its standard input asks: for ``side_by_side``.

Reads one cell a line, such as ``starts 10 150``, and answers each with a line of JSON, ``{figure:
value}``. A figure's name ends with its unit. Must run in trees that are older than itself.

With ``--alone`` the worker has a queue of its own and no chores, so nothing follows a run: how soon
a host does that is no part of what a start or a delta costs. ``whole`` measures it.
"""

import json
import sys
import time
from collections.abc import Callable

import psycopg

from benchmarks.peers import clients, start_profile
from benchmarks.peers.servers import Server, this_host
from benchmarks.peers.start_profile import processes
from tests.acceptance.host import Host

QUEUE = "alone"


def of_all(host: Host, measure: Callable[[], float], units: int, unit: str) -> dict[str, float]:
    """What a cell measured, and the host's milliseconds of processor time for each of its units."""
    before = processes(host)
    speed = measure()
    after = processes(host)
    each = {name: (after[name] - before[name]) * 1000 / units for name in after}
    figures = {f"processor for each {unit}, {name}, ms": each[name] for name in sorted(each)}
    return {
        f"{unit}s a second": speed,
        f"processor for each {unit}, ms": sum(each.values()),
    } | figures


def delivered(host: Host, server: Server, runs: int, deltas: int) -> dict[str, float]:
    """So many runs at once, of so many deltas each."""

    def measure() -> float:
        return clients.deltas_per_second(server, runs, deltas) / 1000

    return of_all(host, measure, runs * deltas // 1000, "thousand delta")


def starts(host: Host, server: Server, at_once: int, runs: int) -> dict[str, float]:
    """Whole runs of one delta, so many at a time."""
    return of_all(host, lambda: clients.bare_runs_per_second(server, runs, at_once), runs, "run")


def whole(host: Host, server: Server, runs: int, deltas: int, seconds: int) -> dict[str, float]:
    """So many runs at once, and all that follows them within ``seconds`` of their begin."""

    def measure() -> float:
        until = time.monotonic() + seconds
        speed = clients.deltas_per_second(server, runs, deltas) / deltas
        time.sleep(max(0, until - time.monotonic()))
        return speed

    return of_all(host, measure, runs, "run")


def first(_host: Host, server: Server, at_once: int, runs: int) -> dict[str, float]:
    """From a POST to the run's first delta, the median."""
    return {"first delta, ms": clients.first_delta_ms(server, runs, at_once)}


CELLS = {"delivered": delivered, "starts": starts, "first": first, "whole": whole}


def move_runs(host: Host) -> None:
    """Have the worker serve the measured agent's queue, and nothing else."""
    # Older trees have the module of the paths elsewhere, and import it there as well.
    paths = start_profile.paths  # type: ignore[attr-defined]
    sockets = str(paths.socket_dir(host.data))
    with psycopg.connect(host=sockets, user="postgres") as operator:
        operator.execute("update runtimes_agent set queue = %s where slug = 'scripted'", [QUEUE])
    host.worker.stop()
    host.env["AGUI_WORKER_QUEUES"] = QUEUE
    host.spawn(host.worker)


def main() -> None:
    alone = "--alone" in sys.argv
    with this_host() as host:
        if alone:
            move_runs(host)
        server = Server("host", host.port, host.headers)
        for line in sys.stdin:
            name, *numbers = line.split()
            figures = CELLS[name](host, server, *map(int, numbers))
            print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
