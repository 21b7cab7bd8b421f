"""Pace: how many frames a second are read from one socket."""

import asyncio
import time

MOST = 400
SECONDS = 0.1
"""At most ``MOST`` frames in ``SECONDS``: the rest waits in the network, so that a client which
sends 100,000 a second leaves the process to others."""


class Pace:
    """Call ``frame`` for each frame that was read."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._frames = 0

    async def frame(self) -> None:
        """Returns at once, or at the beginning of the next period if this one is used up."""
        now = time.monotonic()
        if now - self._since >= SECONDS:
            self._since, self._frames = now, 0
        self._frames += 1
        if self._frames > MOST:
            await asyncio.sleep(self._since + SECONDS - now)
            self._since, self._frames = time.monotonic(), 1
