"""What an input costs: the longest callback of an event loop, and the memory that it holds."""

import asyncio
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Cost:
    """``loop``: seconds of the longest callback, by this thread's own processor time."""

    loop: float = 0.0


@contextmanager
def watched(cost: Cost) -> Iterator[None]:
    """Note the longest callback of the loops of this thread in ``cost``."""
    original = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> Any:
        began = time.thread_time()
        try:
            return original(handle)
        finally:
            cost.loop = max(cost.loop, time.thread_time() - began)

    asyncio.Handle._run = timed  # type: ignore[method-assign]
    try:
        yield
    finally:
        asyncio.Handle._run = original  # type: ignore[method-assign]


def of_loop(runner: asyncio.Runner, make: Callable[[], Awaitable[Any]]) -> Cost:
    """What a coroutine costs the loop."""
    cost = Cost()

    async def run() -> None:
        await asyncio.sleep(0)  # what made the input is not counted
        with watched(cost):
            await make()

    runner.run(run())
    return cost


def memory(runner: asyncio.Runner, make: Callable[[], Awaitable[Any]]) -> int:
    """Bytes that a coroutine holds at its peak, by Python's own count."""

    async def run() -> int:
        tracemalloc.start(1)
        try:
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            await make()
            return tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()

    return runner.run(run())


def slowness() -> float:
    """How much slower this machine is than one on which the standard's loop takes 1 ms."""
    turns = 20
    began = time.thread_time()
    for _ in range(turns):
        sum(range(100_000))
    return (time.thread_time() - began) / turns * 1000
