"""Pace: a run that is faster than its team's events per second is read more slowly."""

import asyncio
import time
from collections.abc import Callable


class Pace:
    """A bucket of events: a full one holds a second's worth, and it fills up all the time.

    If ``left`` is below zero, the reader has to ``wait`` before it takes more. Without a rate it
    never waits.
    """

    __slots__ = ("_at", "_clock", "_rate", "left")

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._at = clock()
        self.left: float = rate or float("inf")

    def debt(self) -> float:
        """Fill up; the seconds until the debt is gone."""
        now = self._clock()
        self.left = min(self._rate, self.left + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, -self.left / self._rate)

    async def wait(self) -> None:
        """Return once the run may send more."""
        while (seconds := self.debt()) > 0:
            await asyncio.sleep(seconds)
