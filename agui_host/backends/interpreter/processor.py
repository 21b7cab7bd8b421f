"""Turns for the interpreter: of the threads that compute for long, one computes at a time.

An event loop asks for the interpreter several times on an event's way, and each time it waits for
all threads that want it as well. Next to one thread that computes, an exchange with a socket took
0.8 ms, next to eight 18 ms, and 108 ms at the 99th percentile.

A call that has computed for less than ``LIGHT`` needs no turn, so a start or a small page waits for
nobody. A call that has computed for longer takes one, and gives it back while it waits for
PostgreSQL or rests.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

LIGHT = 0.01
"""Seconds of processor time that a call computes without a turn."""
PATIENCE = 1.0
"""Seconds after which a call computes without a turn: the one that has it can wait for its lock."""

turn = threading.Lock()
"""Held by the long call that computes."""


class _Thread(threading.local):
    """What a thread's call has left to compute without a turn, and whether it has the turn."""

    until: float | None = None
    has_turn = False


_thread = _Thread()


@contextmanager
def computing(*, long: bool = False) -> Iterator[None]:
    """Compute a call; ``long`` if it takes a turn from its start. Within another call, in that."""
    if _thread.until is not None:
        yield
        return
    _thread.until = 0.0 if long else time.thread_time() + LIGHT
    _thread.has_turn = long and turn.acquire(timeout=PATIENCE)
    try:
        yield
    finally:
        _thread.until = None
        if _thread.has_turn:
            _thread.has_turn = False
            turn.release()


@contextmanager
def waiting() -> Iterator[None]:
    """Let another thread compute meanwhile."""
    if _thread.has_turn:
        _thread.has_turn = False
        turn.release()
    try:
        yield
    finally:
        if _thread.until is not None and time.thread_time() >= _thread.until:
            _thread.has_turn = turn.acquire(timeout=PATIENCE)


def rest(seconds: float) -> None:
    """Sleep without a turn."""
    with waiting():
        time.sleep(seconds)
