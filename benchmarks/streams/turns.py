"""What an event loop's hop takes next to threads that compute, with and without their turns.

``python -m benchmarks.streams.turns``: an event loop exchanges a byte with a socket every
millisecond, next to 1, 4 and 8 threads that parse JSON in calls of 50 ms; as they come, and in the
turns of ``agui_host.backends.interpreter.processor``. The work of the threads is counted as well.
"""

import asyncio
import json
import socket
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from agui_host.backends import interpreter
from agui_host.backends.interpreter import processor
from benchmarks.report import keep, percentile

SECONDS, PAUSE, CALL = 3.0, 0.001, 0.05
ROUNDS = 3
TEXT = json.dumps({"a": [1, 2, {"b": "c"}] * 20})

Turn = Callable[[], AbstractContextManager[None]]


class Others:
    """Threads that compute until ``end``; ``calls`` counts what they did."""

    def __init__(self, number: int, turn: Turn) -> None:
        self.calls, self._turn, self._over = 0, turn, False
        self._threads = [threading.Thread(target=self._compute) for _ in range(number)]
        for thread in self._threads:
            thread.start()

    def _compute(self) -> None:
        while not self._over:
            with self._turn():
                ends = time.thread_time() + CALL
                while time.thread_time() < ends:
                    json.loads(TEXT)
                    self.calls += 1

    def end(self) -> None:
        self._over = True
        for thread in self._threads:
            thread.join()


async def hops() -> list[float]:
    """Milliseconds of each exchange."""
    loop, (near, far), took = asyncio.get_running_loop(), socket.socketpair(), list[float]()
    near.setblocking(False)
    far.setblocking(False)
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        began = time.perf_counter()
        await loop.sock_sendall(near, b"x")
        await loop.sock_recv(far, 1)
        await asyncio.sleep(PAUSE)
        took.append((time.perf_counter() - began - PAUSE) * 1000)
    near.close()
    far.close()
    return took


def measure(number: int, turn: Turn) -> tuple[float, float, float]:
    """p50 and p99 of a hop in milliseconds, and thousands of texts parsed per second."""
    others = Others(number, turn)
    try:
        took = asyncio.run(hops())
    finally:
        others.end()
    return percentile(took, 0.5), percentile(took, 0.99), others.calls / SECONDS / 1000


def main() -> None:
    interpreter.settle()
    turns: list[tuple[str, Turn]] = [
        ("as they come", nullcontext),
        ("in turns", partial(processor.computing, long=True)),
    ]
    lines = ["an event loop's hop next to threads that compute (medians of rounds in turns):"]
    for number in (1, 4, 8):
        rounds = [[measure(number, turn) for _, turn in turns] for _ in range(ROUNDS)]
        for (name, _), results in zip(turns, zip(*rounds, strict=True), strict=True):
            p50, p99, work = (statistics.median(column) for column in zip(*results, strict=True))
            lines.append(
                f"{number} threads {name:<13} p50 {p50:6.2f}  p99 {p99:6.1f} ms"
                f"   work {work:5.1f} thousand texts/s"
            )
    keep("turns", lines)


if __name__ == "__main__":
    main()
