"""Pace: how many frames a second a process reads from the sockets of one team."""

import asyncio
import time
from uuid import UUID
from weakref import WeakKeyDictionary, WeakValueDictionary

MOST = 400
SECONDS = 0.1
"""At most ``MOST`` frames in ``SECONDS``: the rest waits in the network, so that a program which
sends 100,000 a second, over however many sockets, leaves the process to others."""


class Pace:
    """Call ``frame`` for each frame that was read."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._frames = 0

    async def frame(self) -> None:
        """Returns at once, or in a later period if this one is used up."""
        while True:
            now = time.monotonic()
            if now - self._since >= SECONDS:
                self._since, self._frames = now, 0
            if self._frames < MOST:
                self._frames += 1
                return
            await asyncio.sleep(self._since + SECONDS - now)


_paces: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[UUID, Pace]]
_paces = WeakKeyDictionary()


def pace_of(team: UUID) -> Pace:
    """The pace that all sockets of a team share, for as long as one of them is open."""
    paces = _paces.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    return paces.setdefault(team, Pace())
