"""What a turn in a thread that exists costs: ``python -m benchmarks.against COMMIT peers.turns``.

Each turn sends all messages of its user so far, as AG-UI's clients do. The first turn of each
thread is not measured.
"""

import json
import time
from collections.abc import Iterator
from functools import partial
from uuid import uuid4

import httpx

from benchmarks.peers import clients
from benchmarks.peers.clients import DELTA, FINISHED, PATH
from benchmarks.peers.servers import Server, this_host
from benchmarks.peers.start_cost import costs_of_many
from benchmarks.report import keep, percentile
from tests.acceptance.host import Host

WARM, THREADS, TURNS, ONE_BY_ONE = 50, 80, 4, 40


def turn(thread: str, number: int) -> bytes:
    """The input of a thread's turn, counted from 0, which is answered with one delta."""
    asked = [{"id": f"{thread}-{n}", "role": "user", "content": f"{n}?"} for n in range(number + 1)]
    body = {
        "threadId": thread, "runId": str(uuid4()), "messages": asked, "tools": [],
        "context": [], "state": {}, "forwardedProps": {"script": [{"text": "", "n": 1}]},
    }  # fmt: skip
    return json.dumps(body).encode()


def first_delta_ms(server: Server, number: int) -> float:
    """POST → first delta of a turn, the median, one at a time."""
    headers = {"content-type": "application/json", **server.headers}
    firsts = []
    with httpx.Client(base_url=server.url, headers=headers, timeout=clients.PATIENCE) as client:
        for _ in range(ONE_BY_ONE):
            thread = str(uuid4())
            for each in range(number):
                _took(client, turn(thread, each))
            firsts.append(_took(client, turn(thread, number)))
    return percentile(firsts, 0.5) * 1000


def _took(client: httpx.Client, body: bytes) -> float:
    began, first, pieces = time.perf_counter(), 0.0, []
    with client.stream("POST", PATH, content=body) as answer:
        for piece in answer.iter_raw():
            pieces.append(piece)
            if not first and DELTA in piece:
                first = time.perf_counter() - began
    assert FINISHED in b"".join(pieces), pieces
    return first


def runs_per_second(server: Server, threads: list[str], at_once: int) -> float:
    """The further turns of these threads, so many at a time, one turn of all after the other."""
    began = time.perf_counter()
    for number in range(1, TURNS + 1):
        _turn_of_all(server, threads, number, at_once)
    return len(threads) * TURNS / (time.perf_counter() - began)


def _turn_of_all(server: Server, threads: list[str], number: int, at_once: int) -> None:
    requests = [clients.request(server, PATH, turn(thread, number)) for thread in threads]
    clients.per_second(server, requests, at_once, lambda answer: FINISHED in answer)


def costs(host: Host) -> Iterator[str]:
    """A line for each figure, which begins with its name and has a unit."""
    server = Server("host", host.port, host.headers)
    warm = [str(uuid4()) for _ in range(WARM)]
    for number in range(3):
        _turn_of_all(server, warm, number, 10)
    for name, number in (("second", 1), ("fifth", 4)):
        first = first_delta_ms(server, number)
        yield f"{name} turn: POST → first delta, one at a time, p50   {first:.2f} ms"
    for at_once in (10, 50):
        threads = [str(uuid4()) for _ in range(THREADS)]
        _turn_of_all(server, threads, 0, at_once)
        turns = partial(runs_per_second, server, threads, at_once)
        yield from costs_of_many(host, "turns", at_once, THREADS * TURNS, turns)


def main() -> None:
    with this_host() as host:
        keep("turns", list(costs(host)))


if __name__ == "__main__":
    main()
