"""Re-checks the right to read while a stream is open: at notifications, and at intervals.

It depends on no user: it gets topics and a ``recheck`` callable. It runs next to the sending
rather than in it, so that a reader that takes nothing, or never pauses, loses its stream as quickly
as any other.

Readers with the same question share its answers: 5,000 silent readers of one credential and one run
would otherwise take half a core here and half a core of PostgreSQL, with a query each at every
heartbeat.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Hashable

from events.hub import Hub, Wake, hub

SOON = 1.0
"""The first check after a stream has opened starts within this many seconds."""
Recheck = Callable[[], Awaitable[bool]]


async def until_refused(
    topics: Collection[str], recheck: Recheck, every: float, *, question: Hashable = None
) -> None:
    """Return once ``recheck`` is false; called at a topic's notification, else ``every`` seconds.

    Readers who give the same ``question`` share the calls: their ``topics`` and their ``recheck``
    must be interchangeable. Raises the error of ``recheck``.
    """
    key = (hub(), object() if question is None else question)
    watch = _watches.get(key) or _Watch(key, topics, recheck, every)
    await watch.until_refused()


class _Watch:
    """One question, asked again and again for all of its readers.

    The first check comes soon after a reader, because a revocation shortly before can have rung
    without it. Streams that were opened together, after a restart say, must not keep checking
    together: 50 that did held up the events of all of them for 100 ms, each time.
    """

    def __init__(
        self, key: tuple[Hub, Hashable], topics: Collection[str], recheck: Recheck, every: float
    ) -> None:
        self._key, self._topics, self._recheck, self._every = key, topics, recheck, every
        self._readers: set[asyncio.Future[None]] = set()
        self._has_new_reader = False
        self._ring = Wake()
        self._timer: asyncio.TimerHandle | None = None
        self._task = asyncio.create_task(self._serve(), name="recheck")
        _watches[key] = self

    async def until_refused(self) -> None:
        """Wait as one of the readers."""
        loop = asyncio.get_running_loop()
        reader: asyncio.Future[None] = loop.create_future()
        self._readers.add(reader)
        self._has_new_reader = True
        if self._timer is not None and self._timer.when() > loop.time() + SOON:
            self._set_timer()
        try:
            await reader
        finally:
            self._readers.discard(reader)
            if not self._readers:
                self._forget()
                self._task.cancel()

    async def _serve(self) -> None:
        error: Exception | None = None
        try:
            await self._ask_until_refused()
        except Exception as raised:
            error = raised
        # A reader that comes from here on gets a watch of its own.
        self._forget()
        for reader in self._readers:
            if not reader.done():
                reader.set_exception(error) if error else reader.set_result(None)

    async def _ask_until_refused(self) -> None:
        async with hub().listening(self._topics) as self._ring:
            while True:
                self._set_timer()
                try:
                    await self._ring.wait()
                finally:
                    self._stop_timer()
                self._ring.clear()
                # A reader that comes from here on may need a later answer than this one.
                self._has_new_reader = False
                if not await self._recheck():
                    return

    def _set_timer(self) -> None:
        self._stop_timer()
        if self._has_new_reader:
            wait = min(random.uniform(0.2, SOON), self._every)  # noqa: S311
        else:
            wait = self._every * random.uniform(0.8, 1.0)  # noqa: S311
        # A timer and no timeout, which would be three objects.
        self._timer = asyncio.get_running_loop().call_later(wait, self._ring.set)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _forget(self) -> None:
        if _watches.get(self._key) is self:
            del _watches[self._key]


_watches: dict[tuple[Hub, Hashable], _Watch] = {}
