"""The right to read, asked again while a stream is open: when the bell says so, and on a beat.

Knows no user: it gets topics of the bell and a ``recheck`` callable. It runs beside the
sending and not in it, so that a reader that takes nothing, or never falls silent, loses its
stream as quickly as any other.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

from events.hub import hub

Recheck = Callable[[], Awaitable[bool]]


async def until_refused(topics: Collection[str], recheck: Recheck, every: float) -> None:
    """Return once ``recheck`` says no; it is asked when a topic rings, else every so often.

    Asked at the start, too: what was revoked before we listened has rung for others.
    """
    async with hub().listening(topics) as ring:
        while True:
            ring.clear()
            if not await recheck():
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(every):
                    await ring.wait()
