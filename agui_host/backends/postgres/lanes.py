"""Lanes: the calls of different teams take turns for the threads of a pool.

Calls of one lane start in order. A lane gets another thread only while more threads are free than
it holds, so teams whose calls are stuck leave room: of eight threads the first such team holds
four, the next two, the next one. While other teams also call, a lane holds a quarter at most: more
calls at once take no less time, but the processors from the event loops that deliver to others. The
lane of the host itself holds as many as it needs.
"""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

HOST = ""
"""The lane of calls that belong to no team and no address."""
LATELY = 1.0
"""Seconds for which a lane that called is one of the others."""


class _Call:
    """A call of a lane; ``future`` gets its result."""

    __slots__ = ("fn", "future", "lane")

    def __init__(self, lane: str, fn: Callable[[], Any]) -> None:
        self.lane, self.fn = lane, fn
        self.future: Future[Any] = Future()


class Lanes:
    """A pool of threads that lanes share. Safe in threads and with several event loops."""

    def __init__(self, size: int, name: str, initializer: Callable[[], Any] | None = None) -> None:
        self._threads = ThreadPoolExecutor(size, thread_name_prefix=name, initializer=initializer)
        self._free = size
        self._quarter = max(1, size // 4)
        self._held: dict[str, int] = {}
        self._lately: OrderedDict[str, float] = OrderedDict()
        self._waiting: OrderedDict[str, deque[_Call]] = OrderedDict()
        self._lock = threading.Lock()

    def submit(self, lane: str, fn: Callable[[], Any]) -> "Future[Any]":
        """The future result of ``fn``, which is called in a thread when it is its lane's turn."""
        call = _Call(lane, fn)
        with self._lock:
            self._note(lane)
            if lane in self._waiting or not self._has_room(lane):
                self._waiting.setdefault(lane, deque()).append(call)
                return call.future
            self._take(lane)
        self._threads.submit(self._serve, call)
        return call.future

    def shutdown(self) -> None:
        """Wait for the calls that are under way, and end the threads."""
        self._threads.shutdown()

    def _note(self, lane: str) -> None:
        """Note that it calls, and forget lanes that have not called lately."""
        now = time.monotonic()
        if lane != HOST:
            self._lately[lane] = now
            self._lately.move_to_end(lane)
        while self._lately and next(iter(self._lately.values())) < now - LATELY:
            self._lately.popitem(last=False)

    def _has_room(self, lane: str) -> bool:
        if lane == HOST:
            return self._free > 0
        threads = self._held.get(lane, 0)
        return self._free > threads and (len(self._lately) < 2 or threads < self._quarter)

    def _take(self, lane: str) -> None:
        self._free -= 1
        self._held[lane] = self._held.get(lane, 0) + 1

    def _serve(self, call: _Call | None) -> None:
        """Call it, then the next ones, for as long as a lane has a turn."""
        while call is not None:
            self._call(call)
            with self._lock:
                following = self._after(call.lane)
            call = following[0] if following else None
            for another in following[1:]:
                self._threads.submit(self._serve, another)

    def _call(self, call: _Call) -> None:
        if not call.future.set_running_or_notify_cancel():
            return
        try:
            result = call.fn()
        except BaseException as error:
            call.future.set_exception(error)
        else:
            call.future.set_result(result)

    def _after(self, lane: str) -> list[_Call]:
        """Give the thread of ``lane`` back; the calls that take one now."""
        self._free += 1
        self._held[lane] -= 1
        if not self._held[lane]:
            del self._held[lane]
        following: list[_Call] = []
        while self._waiting and (call := self._next()) is not None:
            following.append(call)
        return following

    def _next(self) -> _Call | None:
        for lane, calls in self._waiting.items():
            if self._has_room(lane):
                call = calls.popleft()
                if calls:
                    self._waiting.move_to_end(lane)
                else:
                    del self._waiting[lane]
                self._take(lane)
                return call
        return None
