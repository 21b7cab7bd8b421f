"""Deltas that whole runs deliver to their clients per second, with no peer: for ``against``.

Short cells of ``benchmarks.peers``, which needs npm, and the processor time of the whole host for
each thousand deltas, which other work on the machine changes less. Every delta is committed before
it is delivered.
"""

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor

from benchmarks.peers import clients, servers
from benchmarks.peers.servers import Server
from benchmarks.report import keep
from benchmarks.streams.chats import processor

CELLS = ((20, 2_000), (100, 500))
SETTLE = 1.0


def main() -> None:
    lines = []
    spawn = multiprocessing.get_context("spawn")
    with servers.this_host() as host, ProcessPoolExecutor(1, mp_context=spawn) as client:
        server = Server("host", host.port, host.headers)
        client.submit(clients.deltas_per_second, server, 10, 200).result()  # warm up
        for runs, deltas in CELLS:
            time.sleep(SETTLE)
            before = processor(host)
            speed = client.submit(clients.deltas_per_second, server, runs, deltas).result()
            spent = (processor(host) - before) / (runs * deltas) * 1e6
            cell = f"{runs} runs × {deltas:,} deltas"
            lines.append(f"delivered, {cell:<24} {speed:>10,.0f} events/s")
            lines.append(f"  of the host's processor, {cell:<24} {spent:>10,.1f} ms per thousand")
    keep("delivered", lines)


if __name__ == "__main__":
    main()
