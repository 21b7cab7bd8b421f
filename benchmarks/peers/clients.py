"""The clients that measure: httpx in one process, and bare sockets in one loop of ``selectors``."""

import asyncio
import json
import selectors
import socket
import time
from collections.abc import Callable, Iterable
from uuid import uuid4

import httpx

from benchmarks.peers.servers import Server
from benchmarks.report import percentile

PATH = "/agui/agent/scripted/run"
DELTA = b'"TEXT_MESSAGE_CONTENT"'
FINISHED = b'"RUN_FINISHED"'
LAST_CHUNK = b"0\r\n\r\n"
PATIENCE = 120.0


def run_input(deltas: int) -> bytes:
    """A run on a fresh thread that says so many deltas."""
    body = {
        "threadId": str(uuid4()), "runId": str(uuid4()), "messages": [], "tools": [],
        "context": [], "state": {}, "forwardedProps": {"script": [{"text": "", "n": deltas}]},
    }  # fmt: skip
    return json.dumps(body).encode()


# --- httpx


async def _run(client: httpx.AsyncClient, deltas: int) -> float:
    """One whole run; seconds until its first delta."""
    began, first, pieces = time.perf_counter(), 0.0, []
    async with client.stream("POST", PATH, content=run_input(deltas)) as answer:
        async for piece in answer.aiter_raw():
            pieces.append(piece)
            if not first and DELTA in piece:
                first = time.perf_counter() - began
    answered = b"".join(pieces)
    assert answered.count(DELTA) == deltas, answered[-2000:]
    assert answered.count(FINISHED) == 1
    return first


async def _many(server: Server, deltas: int, runs: int, at_once: int) -> tuple[float, list[float]]:
    """That many whole runs, so many at a time: seconds of all, and until each one's first delta."""
    async with httpx.AsyncClient(
        base_url=server.url,
        headers={"content-type": "application/json", **server.headers},
        timeout=PATIENCE,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
    ) as client:
        firsts: list[float] = []
        numbers = iter(range(runs))

        async def work() -> None:
            for _ in numbers:
                firsts.append(await _run(client, deltas))

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(at_once)))
        return time.perf_counter() - began, firsts


def runs_per_second(server: Server, runs: int, at_once: int) -> float:
    """Whole runs of one delta."""
    return runs / asyncio.run(_many(server, 1, runs, at_once))[0]


def first_delta_ms(server: Server, runs: int, at_once: int) -> float:
    """POST → first delta, the median."""
    return percentile(asyncio.run(_many(server, 1, runs, at_once))[1], 0.5) * 1000


def deltas_per_second(server: Server, runs: int, deltas: int) -> float:
    """Delivered by that many runs at once."""
    return runs * deltas / asyncio.run(_many(server, deltas, runs, runs))[0]


# --- bare sockets


def request(server: Server, path: str, body: bytes | None = None, **headers: str) -> bytes:
    """The bytes of an HTTP request; the server closes the connection behind its answer."""
    lines = {"Host": f"127.0.0.1:{server.port}", "Connection": "close", **server.headers, **headers}
    if body is not None:
        lines |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    method = "GET" if body is None else "POST"
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + (body or b"")


def answers(port: int, requests: Iterable[bytes], at_once: int) -> list[bytes]:
    """Each request on a connection of its own, so many at a time; whole answers as they end."""
    waiting, ended = iter(requests), []
    with selectors.DefaultSelector() as ready:
        for _ in range(at_once):
            _send_next(ready, port, waiting)
        while ready.get_map():
            events = ready.select(PATIENCE)
            assert events, f"{len(ready.get_map())} connections are silent"
            for key, _ in events:
                piece = key.fileobj.recv(1 << 18)  # type: ignore[union-attr]
                key.data.append(piece)
                # Some servers keep the connection, whatever the request says.
                if piece and not piece.endswith(LAST_CHUNK):
                    continue
                ready.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
                ended.append(b"".join(key.data))
                _send_next(ready, port, waiting)
    return ended


def _send_next(ready: selectors.BaseSelector, port: int, waiting: Iterable[bytes]) -> None:
    for each in waiting:
        link = socket.create_connection(("127.0.0.1", port))
        link.sendall(each)
        link.setblocking(False)
        ready.register(link, selectors.EVENT_READ, [])
        return


def bare_runs_per_second(server: Server, runs: int, at_once: int) -> float:
    """Whole runs of one delta by bare sockets."""
    requests = [request(server, PATH, run_input(1)) for _ in range(runs)]
    return per_second(server, requests, at_once, lambda answer: FINISHED in answer)


def per_second(
    server: Server, requests: list[bytes], at_once: int, is_whole: Callable[[bytes], bool]
) -> float:
    """Answered requests per second."""
    began = time.perf_counter()
    ended = answers(server.port, requests, at_once)
    seconds = time.perf_counter() - began
    wrong = [answer for answer in ended if not is_whole(answer)]
    assert not wrong, (len(wrong), wrong[0][:1000])
    return len(ended) / seconds
