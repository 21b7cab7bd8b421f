"""Turns for the interpreter: of the threads that compute for long, one computes at a time.

An event loop asks for the interpreter several times on an event's way, and each time it waits for
all threads that want it as well. Next to one thread that computes, an exchange with a socket took
0.8 ms, next to eight 18 ms, and 108 ms at the 99th percentile.

A call that has computed for less than ``LIGHT`` needs no turn, so a start or a small page waits for
nobody. A call that has computed for longer takes one, and gives it back while it waits for
PostgreSQL or rests. The call that has computed least so far is next.
"""

import heapq
import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

LIGHT = 0.01
"""Seconds of processor time that a call computes without a turn."""
PATIENCE = 1.0
"""Seconds after which a call computes without a turn: the one that has it can wait for its lock."""


class Turn:
    """A lock that goes to the call with the least processor time of those that wait."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._is_taken = False
        self._numbers = itertools.count()
        self.waiting: list[tuple[float, int, threading.Lock]] = []
        """Their processor time, a number, and a lock that is released with the turn."""

    def take(self, seconds: float) -> bool:
        """Wait for the turn of a call that has computed that many seconds; False without one."""
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return True
            place = seconds, next(self._numbers), threading.Lock()
            place[2].acquire()
            heapq.heappush(self.waiting, place)
        if place[2].acquire(timeout=PATIENCE):
            return True
        with self._guard:
            if place not in self.waiting:  # it was given in this moment
                return True
            self.waiting.remove(place)
            heapq.heapify(self.waiting)
        return False

    def give_back(self) -> None:
        """Pass it on, or let the next call take it."""
        with self._guard:
            if self.waiting:
                heapq.heappop(self.waiting)[2].release()
            else:
                self._is_taken = False


class _Thread(threading.local):
    """When a thread's call began, by its processor time, and whether it has the turn."""

    began: float | None = None
    light = 0.0
    has_turn = False


turn = Turn()
_thread = _Thread()


@contextmanager
def computing(*, long: bool = False) -> Iterator[None]:
    """Compute a call; ``long`` if it takes a turn from its start. Within another call, in that."""
    if _thread.began is not None:
        yield
        return
    _thread.began, _thread.light = time.thread_time(), 0.0 if long else LIGHT
    _thread.has_turn = long and turn.take(0.0)
    try:
        yield
    finally:
        _thread.began = None
        if _thread.has_turn:
            _thread.has_turn = False
            turn.give_back()


@contextmanager
def waiting() -> Iterator[None]:
    """Let another thread compute meanwhile."""
    if _thread.has_turn:
        _thread.has_turn = False
        turn.give_back()
    try:
        yield
    finally:
        if _thread.began is not None:
            seconds = time.thread_time() - _thread.began
            _thread.has_turn = seconds >= _thread.light and turn.take(seconds)


def rest(seconds: float) -> None:
    """Sleep without a turn."""
    with waiting():
        time.sleep(seconds)
