"""What silent readers cost: SSE readers of one run that says nothing for a while.

Prints milliseconds of processor time per second, of the web process and of PostgreSQL, for
``SILENT_READERS`` readers (by default 2,000) over ``SILENT_SECONDS`` (60: four heartbeats).
"""

import os
import socket
import time
from contextlib import ExitStack

from benchmarks.report import keep
from tests.acceptance.host import Host, cpu_and_memory, wait_for
from tests.conftest import own_data_dir

READERS = int(os.environ.get("SILENT_READERS", "2000"))
SECONDS = float(os.environ.get("SILENT_SECONDS", "60"))
SETTLED = 20.0
"""Seconds after the last reader has come: the first checks of all of them are done."""


def reader(host: Host, run_id: str) -> socket.socket:
    """A client that has asked for the run's log and got its first bytes."""
    link = socket.create_connection(("127.0.0.1", host.port))
    link.sendall(
        f"GET /api/v1/runs/{run_id}/events HTTP/1.1\r\nHost: 127.0.0.1:{host.port}\r\n"
        f"Accept: text/event-stream\r\nAuthorization: Bearer {host.key}\r\n\r\n".encode()
    )
    link.settimeout(60)
    answer = link.recv(64)
    assert answer.startswith(b"HTTP/1.1 200"), answer
    link.settimeout(None)
    return link


def pids(host: Host) -> tuple[int, int]:
    """Of the web process and of PostgreSQL."""
    assert host.web.process
    postmaster = next(host.data.rglob("postmaster.pid"))
    return host.web.process.pid, int(postmaster.read_text().split()[0])


def measure(host: Host) -> tuple[float, float]:
    """Milliseconds of processor time per second, of web and PostgreSQL."""
    silence = SETTLED + SECONDS + 300
    run = host.begin(script=[{"text": "Hello"}, {"sleep": silence}, {"text": "."}])
    host.wait_status(run["id"], "running")
    with ExitStack() as stack:
        for _ in range(READERS):
            stack.enter_context(reader(host, run["id"]))
        time.sleep(SETTLED)
        before = [cpu_and_memory(pid)[0] for pid in pids(host)]
        time.sleep(SECONDS)
        after = [cpu_and_memory(pid)[0] for pid in pids(host)]
    with host.client() as client:
        client.post(f"/api/v1/runs/{run['id']}/cancel")
    wait_for(lambda: host.ready().get("status") == "ready", "the host to be ready")
    web, postgres = (
        (end - start) / SECONDS * 1000 for start, end in zip(before, after, strict=True)
    )
    return web, postgres


def main() -> None:
    with own_data_dir() as data:
        host = Host(data, AGUI_LIMIT_OPEN_STREAMS=str(READERS + 10))
        try:
            host.start()
            web, postgres = measure(host)
        finally:
            host.stop()
    keep(
        "silent",
        [
            f"{READERS:,} SSE readers of one silent run, processor time per second",
            f"  web {web:.1f} ms",
            f"  PostgreSQL {postgres:.1f} ms",
            f"  of one core, together: {(web + postgres) / 1000:.3f}",
        ],
    )


if __name__ == "__main__":
    main()
