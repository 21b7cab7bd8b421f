"""Pace: a run that is faster than its team's events per second is read more slowly."""

import asyncio
import time
from collections.abc import Callable


class Pace:
    """A bucket of events: full it holds a second's worth, and it fills up all the time.

    ``left`` below zero says that the reader has to ``wait`` before it takes more. Without a
    rate it never has to.
    """

    __slots__ = ("_at", "_clock", "_rate", "left")

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._at = clock()
        self.left: float = rate or float("inf")

    def debt(self) -> float:
        """Fill up; the seconds until nothing is owed any more."""
        now = self._clock()
        self.left = min(self._rate, self.left + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, -self.left / self._rate)

    async def wait(self) -> None:
        """Wait until nothing is owed."""
        while (seconds := self.debt()) > 0:
            await asyncio.sleep(seconds)
