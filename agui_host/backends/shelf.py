"""Shelves: values that a process keeps for later callers, within bytes, an age, a team's share."""

import threading
import time
import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

UNUSED = 300.0
"""Seconds after which an unused value is dropped."""


class _Entry(NamedTuple, Generic[V]):
    value: V
    team: UUID
    size: int
    used: float


class Shelf(Generic[K, V]):
    """The values used last. Safe in threads.

    At most ``most`` values, ``process`` bytes in all, and ``team`` bytes of one team; a value above
    such a bound is kept alone.
    """

    def __init__(
        self,
        *,
        process: int,
        team: int,
        most: int = 1_000,
        unused: float = UNUSED,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.process, self.team, self.most = process, team, most
        self._unused, self._clock = unused, clock
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()
        self._sizes: Counter[UUID] = Counter()
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None

    @property
    def bytes(self) -> int:
        """The size of all values."""
        return self._sizes.total()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The value under ``key``, which counts as used now."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries[key] = entry._replace(used=self._clock())
            self._entries.move_to_end(key)
            return entry.value

    def put(self, key: K, value: V, team: UUID, size: int = 0) -> None:
        """Keep ``value`` in the place of another under this key; the least used make room."""
        with self._lock:
            self.pop(key)
            self._entries[key] = _Entry(value, team, size, self._clock())
            self._sizes[team] += size
            while self._sizes[team] > self.team and (other := self._oldest(team)) != key:
                self.pop(other)
            while len(self._entries) > 1 and (self.bytes > self.process or len(self) > self.most):
                self.pop(next(iter(self._entries)))
            self._expect_the_end()

    def pop(self, key: K) -> V | None:
        """Take it off the shelf."""
        with self._lock:
            entry = self._entries.pop(key, None)
            if entry is None:
                return None
            self._sizes[entry.team] -= entry.size
            if self._sizes[entry.team] <= 0:
                del self._sizes[entry.team]
            return entry.value

    def clear(self) -> None:
        """Take all values off the shelf."""
        with self._lock:
            for key in list(self._entries):
                self.pop(key)

    def sweep(self) -> None:
        """Drop the values that were not used for too long."""
        with self._lock:
            self._timer = None
            before = self._clock() - self._unused
            for key in [key for key, entry in self._entries.items() if entry.used <= before]:
                self.pop(key)
            self._expect_the_end()

    def _oldest(self, team: UUID) -> K:
        return next(key for key, entry in self._entries.items() if entry.team == team)

    def _expect_the_end(self) -> None:
        """Sweep also if no caller comes."""
        if self._entries and self._timer is None:
            self._timer = threading.Timer(self._unused, _sweep, [weakref.ref(self)])
            self._timer.daemon = True
            self._timer.start()


def _sweep(ref: "weakref.ref[Shelf[Any, Any]]") -> None:
    if (shelf := ref()) is not None:
        shelf.sweep()
