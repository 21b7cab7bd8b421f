"""The right to read, asked again while a stream is open: when the bell says so, and on a beat.

Knows no user: it gets topics of the bell and a ``recheck`` callable. It runs beside the
sending and not in it, so that a reader that takes nothing, or never falls silent, loses its
stream as quickly as any other.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

from events.hub import hub

SOON = 1.0
"""Within so many seconds a stream asks for the first time."""
Recheck = Callable[[], Awaitable[bool]]


async def until_refused(topics: Collection[str], recheck: Recheck, every: float) -> None:
    """Return once ``recheck`` says no; it is asked when a topic rings, else ``every`` so often.

    Soon after the start, too: what was revoked before we listened has rung for others. Streams
    that were opened together, after a restart say, do not ask together for ever: 50 that did held
    up the events of all of them for 100 ms, each time.
    """
    wait = min(random.uniform(0.2, SOON), every)  # noqa: S311
    async with hub().listening(topics) as ring:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await ring.wait()
            ring.clear()
            if not await recheck():
                return
            wait = every * random.uniform(0.8, 1.0)  # noqa: S311
