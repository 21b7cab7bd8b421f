"""Inlet: a stream read by a separate task, for a middleware that also waits for other things."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, Self

from agui_host.runtimes.middleware.base import Wire

ROOM = 64


class Inlet:
    """``async with Inlet(events) as inlet``: ``take`` an event that is there, else ``wait``.

    Reads at most ROOM events ahead. Leaving cancels the task, which stops the agent.
    """

    def __init__(self, events: AsyncIterator[Wire]) -> None:
        self._events = events
        self._waiting: deque[Wire] = deque()
        self._space = asyncio.Event()
        self._news = asyncio.Event()
        self._closed = False

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._read())
        self._task.add_done_callback(lambda task: self.notify())
        return self

    async def __aexit__(self, *exc: Any) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.exception()

    @property
    def over(self) -> bool:
        """Whether everything was taken. Raises the stream's exception, after its last event."""
        if self._waiting or not self._task.done():
            return False
        self._task.result()
        return True

    def take(self) -> Wire | None:
        """The next event that has come; None if none waits."""
        if not self._waiting:
            return None
        self._space.set()
        return self._waiting.popleft()

    def notify(self) -> None:
        """Wake ``wait`` although no event has come."""
        self._news.set()

    async def wait(self, seconds: float | None = None) -> None:
        """Wait for a change since the last ``wait``, or for the timeout."""
        if self._waiting and not self._closed:
            return
        try:
            # Not wait_for: on Python 3.11 it can swallow a cancel that arrives together with the
            # event.
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return
        self._news.clear()

    def close(self) -> None:
        """Stop reading: further events are not wanted. ``wait`` still works."""
        self._closed = True
        self._task.cancel()

    async def _read(self) -> None:
        async for event in self._events:
            if self._closed:
                return
            self._waiting.append(event)
            self._news.set()
            while len(self._waiting) >= ROOM:
                self._space.clear()
                await self._space.wait()
