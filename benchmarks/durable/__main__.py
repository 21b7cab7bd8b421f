"""Every figure of the table in turns: this host, the other, this host, the other.

    python -m benchmarks.durable [--quick] [NAME …]

NAME: AgentServer, DBOS, Agno, Aegra, floor; all without one. Each peer stores on the same machine,
PostgreSQL and Valkey as the host, with ``fsync`` and ``synchronous_commit`` on.
What they promise differs: docs/benchmarks.md. A peer that cannot be had is named with the reason.
Ends well whatever the figures are: they depend on the machine.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.durable import clients, servers
from benchmarks.peers.__main__ import Bench
from benchmarks.peers.servers import Server, this_host
from benchmarks.peers.table import Row, lines
from benchmarks.report import keep
from tests.acceptance.host import ROOT, Host, free_port

FLOOR = "floor"
WARM = 40


@contextmanager
def floor(data: Path) -> Iterator[Server]:
    """The floor's two processes."""
    port, program = free_port(), [sys.executable, "-m", "benchmarks.durable.floor"]
    jobs = ([*program, "work", str(data)], [*program, "serve", str(data), str(port)])
    with ExitStack() as stack:
        for command in jobs:
            process = stack.enter_context(
                subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
            )
            stack.callback(process.kill)
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
        yield Server(FLOOR, port)


def compare(bench: Bench, host: Server, other: Server) -> None:
    """The rows of one peer. The host speaks the peer's wire where it can, else AG-UI."""
    size = 4 if bench.quick else 1
    ours = clients.OWN_RESPONSES if other.name == "AgentServer" else clients.AGUI
    theirs = clients.WIRES[other.name]

    def row(name: str, unit: str, measure: Callable[..., float], *args: int) -> None:
        bench.row(
            Row(name, unit, other.name, at_most=unit == "ms"),
            bench.client(measure, host, ours, *args),
            bench.client(measure, other, theirs, *args),
        )

    for server, wire in ((host, ours), (other, theirs)):
        bench.client(clients.runs_per_second, server, wire, WARM, 10)()
    for at_once, runs in ((10, 200), (50, 400)):
        name = f"whole runs, {at_once} at a time"
        row(name, "runs/s", clients.runs_per_second, max(runs // size, at_once), at_once)
    row("POST → first delta, one at a time, p50", "ms", clients.first_delta_ms, 40 // size, 1)
    for runs, deltas in ((1, 500), (20, 500)):
        name = f"delivered, {runs} run{'s' * (runs > 1)} × {deltas // size} deltas"
        row(name, "events/s", clients.deltas_per_second, runs, deltas // size)


def measured(bench: Bench, host: Host, names: list[str]) -> Iterator[str]:
    """Measures all rows; a line for each peer: its version, or why it is not in the table."""
    ours = Server("host", host.port, host.headers)
    with tempfile.TemporaryDirectory() as folder:
        if FLOOR in names:
            with floor(host.data) as other:
                compare(bench, ours, other)
            yield "floor: two commits and publishes in two processes, and nothing else"
        for peer in servers.ALL:
            if peer.name not in names:
                continue
            try:
                with servers.running(peer, host.data, Path(folder)) as running:
                    compare(bench, ours, running.server)
            except servers.NotInstalled as why:
                yield f"{peer.name}: not measured: {why}"
            else:
                yield f"{peer.name}: {peer.package} {peer.version}; stores in {peer.stores}"
                yield from (f"  {line}" for line in peer.install_lines)
                all_, early = bench.clients.submit(clients.streams, peer.name).result()
                if early:
                    yield f"  {early} of its {all_} streams ended without all events or their end"


def main() -> None:
    arguments = [word for word in sys.argv[1:] if not word.startswith("-")]
    names = arguments or [FLOOR, *(peer.name for peer in servers.ALL)]
    if unknown := set(names) - {FLOOR, *(peer.name for peer in servers.ALL)}:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}")
    bench = Bench(quick="--quick" in sys.argv[1:])
    with this_host() as host, bench.clients:
        notes = list(measured(bench, host, names))
    keep("durable", [*lines(bench.rows), "", *notes], [row.as_json() for row in bench.rows])


if __name__ == "__main__":
    main()
