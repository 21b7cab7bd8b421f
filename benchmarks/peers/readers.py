"""Readers of this host beside those of a bare app or of PostgreSQL itself."""

import base64
import http.client
import os
import socket
import time

import psycopg

from agui_host.embedded import paths
from benchmarks.peers.clients import FINISHED, answers, per_second, request
from benchmarks.peers.servers import Server
from tests.acceptance.host import Host, cpu_and_memory, wait_for

STREAM = {"Accept": "text/event-stream"}
WARM_READERS = 100
SETTLE = 2.0
"""Seconds in which a process takes and returns the memory of readers who came or left."""


def short_run(host: Host) -> str:
    """An ended run of 14 events; the address of its log."""
    run = host.begin(script=[{"text": "", "n": 10}])
    host.wait_status(run["id"], "succeeded")
    assert host.run(run["id"])["events"] == 14
    return f"/api/v1/runs/{run['id']}/events"


def joins_per_second(server: Server, path: str, readers: int) -> float:
    """That many readers who come at once, each on a connection of its own, and read to the end."""
    requests = [request(server, path, **STREAM)] * readers
    return per_second(server, requests, readers, lambda answer: FINISHED in answer)


def health_cpu_ms(server: Server, pid: int, requests: int) -> float:
    """The CPU of one ``GET /health`` over a connection that stays open."""
    link = http.client.HTTPConnection("127.0.0.1", server.port)
    before = cpu_and_memory(pid)[0]
    for _ in range(requests):
        link.request("GET", "/health")
        assert link.getresponse().read().startswith(b"{")
    link.close()
    return (cpu_and_memory(pid)[0] - before) / requests * 1000


def idle_reader_kb(server: Server, pid: int, path: str, readers: int, *, sockets: bool) -> float:
    """What one reader, who has had all there is so far, adds to the process."""
    links = _readers(server, path, WARM_READERS, sockets)
    for link in links:
        link.close()
    time.sleep(SETTLE)
    before = cpu_and_memory(pid)[1]
    links = _readers(server, path, readers, sockets)
    time.sleep(SETTLE)
    gained = cpu_and_memory(pid)[1] - before
    for link in links:
        link.close()
    time.sleep(SETTLE)
    return gained / readers / 1024


def _readers(server: Server, path: str, number: int, sockets: bool) -> list[socket.socket]:
    """Open readers; returns when each has its first event."""
    key = base64.b64encode(os.urandom(16)).decode()
    upgrade = {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
    }  # fmt: skip
    head = request(server, path, **(upgrade if sockets else STREAM))
    links = []
    for _ in range(number):
        link = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        link.sendall(head)
        links.append(link)
    for link in links:
        received = b""
        while b"{" not in received:
            piece = link.recv(65536)
            assert piece, received
            received += piece
    return links


def waiting_run(host: Host) -> str:
    """The id of a run that says one word, and then nothing."""
    run = host.begin(script=[{"text": "here"}, {"forever": True}])
    wait_for(lambda: host.run(run["id"])["events"] >= 4, "the run to have said its word")
    return str(run["id"])


def long_run(host: Host, deltas: int) -> str:
    """The id of an ended run with so many deltas."""
    run = host.begin(script=[{"text": "", "n": deltas}])
    wait_for(lambda: host.run(run["id"])["status"] == "succeeded", "the long run to end", 120)
    return str(run["id"])


def replayed_per_second(server: Server, run_id: str, events: int) -> float:
    """Events of a whole log, as one reader gets them."""
    began = time.perf_counter()
    (answer,) = answers(server.port, [request(server, events_of(run_id), **STREAM)], 1)
    seconds = time.perf_counter() - began
    assert answer.count(b"\ndata: ") == events, answer[-500:]
    return events / seconds


def copied_per_second(host: Host, run_id: str, events: int) -> float:
    """The same rows by ``COPY TO STDOUT``, as fast as PostgreSQL and psycopg are."""
    rows = f"select seq, payload from events_event where journal_id = '{run_id}' order by seq"  # noqa: S608
    address = {"host": str(paths.socket_dir(host.data)), "user": "postgres"}
    with psycopg.connect(**address) as connection:
        began = time.perf_counter()
        with connection.cursor().copy(f"copy ({rows}) to stdout") as copy:
            size = sum(bytes(piece).count(b"\n") for piece in copy)
        seconds = time.perf_counter() - began
    assert size >= events
    return events / seconds


def events_of(run_id: str) -> str:
    """The address of a run's raw log from its beginning."""
    return f"/api/v1/runs/{run_id}/events?after=0"
