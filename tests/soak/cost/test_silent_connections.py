"""17,400 connections, none of which says a word, to a host without a proxy."""

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from agui_host.embedded.supervisor import HEADER_MILLISECONDS
from benchmarks.report import keep, percentile
from tests.acceptance.host import wait_for
from tests.acceptance.supervised import Supervised
from tests.soak.peaks import LIMITS, Peaks

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]
SILENT = 17_400
"""More than the web process takes (``CONNECTIONS``)."""
ENDED_AFTER = HEADER_MILLISECONDS / 1000
PATIENCE = 2 * ENDED_AFTER
SAMPLES = 100


@contextmanager
def many_files() -> Iterator[None]:
    """This process, and the host that it starts, may have a file for each connection."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (SILENT + 1_000, max(SILENT + 1_000, limits[1])))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def seconds_of_starts(client: httpx.Client) -> list[float]:
    """How long starts take, over one connection that is kept."""
    taken = []
    for _ in range(SAMPLES):
        began = time.monotonic()
        body = {"agent": "scripted", "input": {"forwardedProps": {"script": []}}}
        client.post("/api/v1/runs", json=body).raise_for_status()
        taken.append(time.monotonic() - began)
    return taken


def answers(host: Supervised) -> bool:
    """Whether a new connection is answered: where all places are taken, it is reset."""
    with host.client() as newcomer, suppress(httpx.TransportError):
        return newcomer.get("/health", timeout=PATIENCE).is_success
    return False


def ended(connection: socket.socket) -> bool:
    """Whether the host has closed it, or never took it."""
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_silent_connections_end_and_cost_no_process(data_dir: Path) -> None:
    host = Supervised(data_dir, AGUI_LIMIT_RUNS_PER_MINUTE="0")
    peaks = Peaks(host)
    with many_files(), ExitStack() as stack:
        stack.callback(host.stop)
        host.start()
        client = stack.enter_context(host.client())
        alone = seconds_of_starts(client)
        web = host.pid_of("granian")
        began = time.monotonic()
        silent = [
            stack.enter_context(socket.create_connection(("127.0.0.1", host.port), timeout=30))
            for _ in range(SILENT)
        ]
        opened = time.monotonic() - began
        for connection in silent:
            connection.setblocking(False)
        beside = seconds_of_starts(client)
        peaks.look()

        began = time.monotonic()
        wait_for(lambda: answers(host), "a new connection to be answered", PATIENCE)
        waited = time.monotonic() - began

        def all_ended() -> bool:
            peaks.look()
            silent[:] = [connection for connection in silent if not ended(connection)]
            return not silent

        wait_for(all_ended, "the host to end silent connections", PATIENCE)
        lasted = time.monotonic() - began
        same = host.pid_of("granian") == web
    keep(
        "silent-connections",
        [
            f"{SILENT} connections that send nothing, opened in {opened:.1f} s, no proxy",
            f"starts over a kept connection: p99 {1000 * percentile(alone, 0.99):.0f} ms alone,"
            f" {1000 * percentile(beside, 0.99):.0f} ms beside them",
            f"a new connection was answered after {waited:.1f} s; all silent ones had ended"
            f" {lasted:.0f} s after the last was opened",
            "most memory: " + ", ".join(f"{name} {mb:.0f} MB" for name, mb in peaks.most.items()),
        ],
    )
    assert same, "the web process was killed"
    assert not peaks.too_large, LIMITS
    assert waited <= ENDED_AFTER + 10
