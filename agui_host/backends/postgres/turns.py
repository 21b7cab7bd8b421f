"""Turns: requests that want the same lock wait in line, first come first served.

While a request waits it holds neither a database connection nor one of the threads of
``bridge.db``, so that the requests of others continue. A verb that cannot get its lock raises
``NotYet`` out of its transaction, with the name of the lock; the first in line calls it again until
it succeeds. Other processes have their own lines: between processes, trying again decides.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from django.db import connection

from agui_host.errors import Unavailable

T = TypeVar("T")

LONGEST_WAIT = 30.0
LONGEST_LINE = 500
PAUSES = (0.002, 0.005, 0.01, 0.02, 0.05)  # seconds; the last one is repeated

WAITS_OUTSIDE: ContextVar[bool] = ContextVar("WAITS_OUTSIDE", default=False)
"""Set if an outer caller, on an event loop, waits for the turn: ``NotYet`` passes through."""
_at_head: ContextVar[Hashable] = ContextVar("_at_head", default=None)
_lines: dict[Hashable, deque[Future[None]]] = {}
_guard = threading.Lock()


class NotYet(Exception):
    """Another request holds ``key``. Control flow: clients never see it."""

    def __init__(self, key: Hashable) -> None:
        super().__init__(key)
        self.key = key


def length() -> int:
    """How many wait in this process."""
    with _guard:
        return sum(map(len, _lines.values()))


def check(key: Hashable) -> None:
    """Raises NotYet while others wait for ``key`` and the caller is not the first of them."""
    if key in _lines and _at_head.get() != key:
        raise NotYet(key)


def wait(call: Callable[[], T]) -> T:
    """The result of ``call``, once it is its turn. Raises Unavailable."""
    try:
        return call()
    except NotYet as busy:
        if WAITS_OUTSIDE.get() or connection.in_atomic_block:
            raise
        connection.close()  # Another's lock, while we wait.
        with _in_line(busy.key) as (turn, ends):
            if not _settled(turn, ends):
                raise _too_long() from None
            for pause in _pauses(ends):
                try:
                    return call()
                except NotYet:
                    connection.close()
                    time.sleep(pause)
        raise _too_long() from None


async def wait_outside(call: Callable[[], Awaitable[T]]) -> T:
    """``wait`` on an event loop; ``call`` runs its verb in a thread, with this context."""
    try:
        return await call()
    except NotYet as busy:
        with _in_line(busy.key) as (turn, ends):
            await asyncio.wait({asyncio.wrap_future(turn)}, timeout=ends - time.monotonic())
            if not turn.done():
                raise _too_long() from None
            for pause in _pauses(ends):
                try:
                    return await call()
                except NotYet:
                    await asyncio.sleep(pause)
        raise _too_long() from None


@contextmanager
def _in_line(key: Hashable) -> Iterator[tuple[Future[None], float]]:
    """A place in the line of ``key``: the future that is settled at its head, and the deadline."""
    turn: Future[None] = Future()
    with _guard:
        line = _lines.setdefault(key, deque())
        if len(line) >= LONGEST_LINE:
            raise _too_long()
        line.append(turn)
        if line[0] is turn:
            turn.set_result(None)
    token = _at_head.set(key)
    try:
        yield turn, time.monotonic() + LONGEST_WAIT
    finally:
        _at_head.reset(token)
        _leave(key, turn)


def _leave(key: Hashable, turn: "Future[None]") -> None:
    with _guard:
        line = _lines[key]
        was_first = line[0] is turn
        line.remove(turn)
        if not line:
            del _lines[key]
        elif was_first:
            line[0].set_result(None)


def _settled(turn: "Future[None]", ends: float) -> bool:
    try:
        turn.result(timeout=ends - time.monotonic())
    except TimeoutError:
        return False
    return True


def _pauses(ends: float) -> Iterator[float]:
    yield from PAUSES
    while time.monotonic() < ends:
        yield PAUSES[-1]


def _too_long() -> Unavailable:
    return Unavailable(
        "Too many requests wait for the same thread; try again shortly.",
        headers={"Retry-After": "5"},
    )
