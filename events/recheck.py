"""Re-checks the right to read while a stream is open: at notifications, and at intervals.

It depends on no user: it gets topics and a ``recheck`` callable. It runs next to the sending
rather than in it, so that a reader that takes nothing, or never pauses, loses its stream as quickly
as any other.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection

from events.hub import hub

SOON = 1.0
"""Every stream makes its first check within this many seconds."""
Recheck = Callable[[], Awaitable[bool]]


async def until_refused(topics: Collection[str], recheck: Recheck, every: float) -> None:
    """Return once ``recheck`` is false; called at a topic's notification, else ``every`` seconds.

    The first call comes soon after the start, because a revocation before we listened rang without
    us. Streams that were opened together, after a restart say, must not keep checking together: 50
    that did held up the events of all of them for 100 ms, each time.
    """
    wait = min(random.uniform(0.2, SOON), every)  # noqa: S311
    async with hub().listening(topics) as ring:
        while True:
            # A timer and no timeout, which would be three objects of every open stream.
            timer = asyncio.get_running_loop().call_later(wait, ring.set)
            try:
                await ring.wait()
            finally:
                timer.cancel()
            ring.clear()
            if not await recheck():
                return
            wait = every * random.uniform(0.8, 1.0)  # noqa: S311
