"""Every figure of the table in turns: this host, the peer, this host, the peer.

    python -m benchmarks.peers [--quick] [--readers]

With ``--readers`` only those rows that need no CopilotKit.
The clients run in one process of their own. The host keeps what it promises meanwhile: each event
is committed (``fsync`` and ``synchronous_commit`` on) before a reader gets it; CopilotKit's runner
stores nothing. Ends well whatever the figures are: they depend on the machine.
"""

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.peers import clients, readers, servers
from benchmarks.peers.readers import events_of
from benchmarks.peers.servers import Server
from benchmarks.peers.table import Row, lines
from benchmarks.report import keep
from tests.acceptance.host import Host
from tests.conftest import own_data_dir

Measure = Callable[[], float]


class Bench:
    """Measures in turns, and holds the rows."""

    def __init__(self, *, quick: bool) -> None:
        self.quick = quick
        self.rounds = 1 if quick else 2
        self.rows: list[Row] = []
        spawn = multiprocessing.get_context("spawn")
        self.clients = ProcessPoolExecutor(1, mp_context=spawn)

    def client(self, measure: Callable[..., float], *args: Any, **options: Any) -> Measure:
        """The measure, in the clients' process."""
        return lambda: self.clients.submit(measure, *args, **options).result()

    def row(self, row: Row, ours: Measure, theirs: Measure, *, once: bool = False) -> None:
        """Measure a row, in one turn if that takes long enough."""
        for _ in range(1 if once else self.rounds):
            row.ours.append(ours())
            row.theirs.append(theirs())
        self.rows.append(row)
        print(row.line, flush=True)


def beside_copilotkit(bench: Bench, host: Server, peer: Server) -> None:
    """Starts and streams."""
    size = 4 if bench.quick else 1

    def compare(row: Row, measure: Callable[..., float], *args: int, once: bool = False) -> None:
        ours, theirs = (bench.client(measure, server, *args) for server in (host, peer))
        bench.row(row, ours, theirs, once=once)

    for server in (host, peer):
        bench.client(clients.runs_per_second, server, 40, 10)()  # warm up
    name = peer.name
    for at_once, runs, bounds in (
        (1, 40, (None, None)),
        (10, 200, (0.4, 1.0)),
        (50, 400, (0.7, 1.5)),
    ):
        row = Row(f"whole runs, {at_once} at a time, httpx", "runs/s", name, *bounds)
        compare(row, clients.runs_per_second, runs // size, at_once)
    for at_once, runs in ((10, 200), (50, 400)):
        row = Row(f"whole runs, {at_once} at a time, bare sockets", "runs/s", name, 0.3, 0.6)
        compare(row, clients.bare_runs_per_second, runs // size, at_once)
    row = Row("POST → first delta, one at a time, p50", "ms", name, 2.5, 1.5, at_most=True)
    compare(row, clients.first_delta_ms, 40 // size, 1)
    row = Row("first delta of 100 runs started at once, p50", "ms", name, 2, 1, at_most=True)
    compare(row, clients.first_delta_ms, 100, 100)
    for runs, deltas in ((20, 2_000), (20, 10_000), (100, 500), (100, 2_000)):
        row = Row(f"delivered, {runs} runs × {deltas:,} deltas", "events/s", name, 3, 6)
        many = runs * deltas > 100_000
        compare(row, clients.deltas_per_second, runs, deltas // size, once=many)


def beside_bare_servers(bench: Bench, host: Host, folder: Path) -> None:
    """Joins, requests, idle readers and replay."""
    assert host.web.process
    server, web = Server("host", host.port, host.headers), host.web.process.pid
    log = readers.short_run(host)
    (answer,) = clients.answers(
        host.port, [clients.request(server, f"{log}?after=0", **readers.STREAM)], 1
    )
    with servers.bare(answer.partition(b"\r\n\r\n")[2], folder) as (bare, process):
        many = 250 if bench.quick else 1_000
        bench.row(
            Row(f"joins of an ended run by {many} readers", "joins/s", bare.name, 0.05, 0.15),
            bench.client(readers.joins_per_second, server, f"{log}?after=0", many),
            bench.client(readers.joins_per_second, bare, "/body", many),
        )
        bench.row(
            Row("CPU of GET /health", "ms", bare.name, 2, 1.2, at_most=True),
            bench.client(readers.health_cpu_ms, server, web, 3_000),
            bench.client(readers.health_cpu_ms, bare, process, 3_000),
        )
        run = readers.waiting_run(host)
        addresses = {False: events_of(run), True: f"/ws/runs/{run}/?after=0"}
        for sockets, address in addresses.items():
            way = "WebSocket" if sockets else "SSE"
            row = Row(f"idle reader, {way}", "KB", bare.name, 20, 12, at_most=True, of_ours=True)
            bench.row(
                row,
                bench.client(readers.idle_reader_kb, server, web, address, many, sockets=sockets),
                bench.client(readers.idle_reader_kb, bare, process, "/idle", many, sockets=sockets),
            )
    beside_copy(bench, host, server)


def beside_copy(bench: Bench, host: Host, server: Server) -> None:
    """Replay."""
    deltas = 20_000 if bench.quick else 100_000
    run, events = readers.long_run(host, deltas), deltas + 4
    bench.row(
        Row(f"replay of {deltas:,} events to one reader", "events/s", "COPY TO STDOUT", 0.3, 0.6),
        bench.client(readers.replayed_per_second, server, run, events),
        lambda: readers.copied_per_second(host, run, events),
    )


def measured(*, quick: bool, readers_only: bool) -> Iterator[Row]:
    """All rows."""
    bench = Bench(quick=quick)
    with servers.this_host() as host, own_data_dir() as folder, bench.clients:
        if not readers_only:
            servers.install_copilotkit()
            with servers.copilotkit() as peer:
                beside_copilotkit(bench, Server("host", host.port, host.headers), peer)
        beside_bare_servers(bench, host, folder)
    yield from bench.rows


def main() -> None:
    readers_only = "--readers" in sys.argv[1:]
    rows = list(measured(quick="--quick" in sys.argv[1:], readers_only=readers_only))
    name = "readers" if readers_only else "peers"
    keep(name, lines(rows), [row.as_json() for row in rows])


if __name__ == "__main__":
    main()
