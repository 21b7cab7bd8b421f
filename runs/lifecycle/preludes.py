"""Large preludes of live runs, kept for the readers that join next: stored once for all of them.

A prelude at an earlier position is as good as a new one: the log continues from there.
"""

import threading
from collections import OrderedDict
from typing import NamedTuple
from uuid import UUID

LARGE = 64 * 1024
"""Bytes from which a prelude is kept; a smaller one is made as fast as it is found."""
MOST_BYTES = 32_000_000
NEAR = 500
"""Events after a kept prelude with which it is still used."""


class Kept(NamedTuple):
    """A prelude and its position."""

    position: int
    opening: bytes


class Preludes:
    """The newest prelude of each run, within ``MOST_BYTES``. Safe in threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[UUID, Kept] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def near(self, run: UUID, position: int) -> Kept | None:
        """A kept prelude from which a reader who joins at ``position`` can continue."""
        with self._lock:
            near = self._kept.get(run)
            if near is None or not 0 <= position - near.position <= NEAR:
                return None
            self._kept.move_to_end(run)
            return near

    def keep(self, run: UUID, made: Kept) -> Kept:
        """Keep a prelude; the one to use, which another thread may have kept just now."""
        if len(made.opening) < LARGE:
            return made
        if (near := self.near(run, made.position)) is not None:
            return near
        with self._lock:
            self._drop(run)
            self._kept[run] = made
            self._bytes += len(made.opening)
            while self._bytes > MOST_BYTES:
                self._drop(next(iter(self._kept)))
        return made

    def _drop(self, run: UUID) -> None:
        if (near := self._kept.pop(run, None)) is not None:
            self._bytes -= len(near.opening)


preludes = Preludes()
