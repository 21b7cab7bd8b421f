"""What a whole short run costs: for ``python -m benchmarks.against COMMIT peers.start_cost``.

Runs per second, processor time and PostgreSQL's write-ahead log, by bare sockets; and the time
until a run's first delta.
"""

from collections.abc import Callable, Iterator
from functools import partial

import psycopg

from agui_host.embedded import paths
from benchmarks.peers import clients
from benchmarks.peers.servers import Server, this_host
from benchmarks.peers.start_profile import processes
from benchmarks.report import keep
from tests.acceptance.host import Host

WARM, COUNTED, ONE_BY_ONE = 150, 500, 60


def written(host: Host) -> tuple[int, int]:
    """How many records PostgreSQL's write-ahead log has got so far, and bytes."""
    sockets = str(paths.socket_dir(host.data))
    with psycopg.connect(host=sockets, user="postgres") as operator:
        row = operator.execute("select wal_records, wal_bytes::bigint from pg_stat_wal").fetchone()
    assert row
    return row[0], row[1]


def costs(host: Host) -> Iterator[str]:
    """A line for each figure, which begins with its name and has a unit."""
    server = Server("host", host.port, host.headers)
    clients.runs_per_second(server, WARM, 10)
    first = clients.first_delta_ms(server, ONE_BY_ONE, 1)
    yield f"POST → first delta, one at a time, p50   {first:.2f} ms"
    first = clients.first_delta_ms(server, 100, 100)
    yield f"first delta of 100 at once, p50   {first:.0f} ms"
    for at_once in (10, 50):
        runs = partial(clients.bare_runs_per_second, server, COUNTED, at_once)
        yield from costs_of_many(host, "whole runs", at_once, COUNTED, runs)


def costs_of_many(
    host: Host, name: str, at_once: int, count: int, play: Callable[[], float]
) -> Iterator[str]:
    """The lines of ``count`` runs, so many at a time; ``play`` returns runs per second."""
    before, records, size = processes(host), *written(host)
    runs = play()
    after, more_records, more = processes(host), *written(host)
    yield f"{name}, {at_once} at a time   {runs:.1f} runs/s"
    for process in sorted(after):
        each = (after[process] - before[process]) * 1000 / count
        yield f"processor time of one, {at_once} at a time, {process}   {each:.2f} ms"
    each = (more_records - records) / count
    yield f"log records of one, {at_once} at a time   {each:.1f} records"
    yield f"log of one, {at_once} at a time   {(more - size) / count / 1000:.2f} KB"


def main() -> None:
    with this_host() as host:
        keep("start-cost", list(costs(host)))


if __name__ == "__main__":
    main()
