"""Pace: how many frames and bytes a second a process reads from the sockets of one team."""

import asyncio
import time
from uuid import UUID
from weakref import WeakKeyDictionary, WeakValueDictionary

from agui_host.backends import work

MOST = 400
MOST_BYTES = 400_000
SECONDS = 0.1
"""At most ``MOST`` frames and ``MOST_BYTES`` in ``SECONDS``: the rest waits in the network, so that
a program which sends 100,000 a second, over however many sockets, leaves the process to others. A
larger frame uses up the periods that follow."""
PAUSE = 1.0
"""Seconds that a frame waits at most while its team is in debt: an acknowledgement still comes in
time."""


class Pace:
    """Call ``frame`` for each frame that was read."""

    def __init__(self, team: UUID | None = None) -> None:
        self._team = team
        self._since = time.monotonic()
        self._frames = 0
        self._bytes = 0

    async def frame(self, size: int = 0) -> None:
        """Returns at once, or in a later period if this one is used up."""
        if self._team is not None and (seconds := work.debt(self._team)):
            await asyncio.sleep(min(seconds, PAUSE))
        while True:
            self._renew()
            if self._frames < MOST and self._bytes < MOST_BYTES:
                self._frames += 1
                self._bytes += size
                return
            await asyncio.sleep(self._since + SECONDS - time.monotonic())

    def _renew(self) -> None:
        now = time.monotonic()
        if periods := int((now - self._since) / SECONDS):
            self._since, self._frames = now, 0
            self._bytes = max(0, self._bytes - periods * MOST_BYTES)


_paces: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[UUID, Pace]]
_paces = WeakKeyDictionary()


def pace_of(team: UUID) -> Pace:
    """The pace that all sockets of a team share, for as long as one of them is open."""
    paces = _paces.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    return paces.setdefault(team, Pace(team))
