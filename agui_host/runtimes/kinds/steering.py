"""Passes messages of people on to an agent outside of this process, while its output is read.

A runtime whose agent takes messages gives ``Steering`` the way to deliver one. The message becomes
events of the run once the agent has it; a message that the agent refuses stays unread, and the next
run of the thread brings it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from enum import Enum
from typing import Any, TypeVar

from agui_host.runtimes.context.inbox import InboxMessage
from agui_host.runtimes.context.run_context import RunContext

T = TypeVar("T")
LAST = 2.0
"""Seconds that a message on its way has at the end of its run."""


class Delivery(Enum):
    """The fate of one message. ``KEPT``: the agent sends its events when it reads it."""

    READ = "read"
    KEPT = "kept"
    REFUSED = "refused"


class Said(list[dict[str, Any]]):
    """The events of messages that the agent has read."""


class Steering:
    """The messages of one run on their way, in their order and one at a time."""

    def __init__(
        self,
        ctx: RunContext,
        deliver: Callable[[InboxMessage], Awaitable[Delivery]],
        prepare: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """``prepare`` is awaited before the first message."""
        self._ctx = ctx
        self._deliver = deliver
        self._prepare = prepare
        self._said = Said()
        self._news = asyncio.Event()
        self._way = asyncio.Lock()
        self._reading: asyncio.Task[Any] | None = None
        self._passing = asyncio.create_task(self._pass_on(), name="steering")

    async def beside(self, read: Callable[[], Coroutine[Any, Any, T]]) -> T | Said:
        """The result of ``read``, or the events of messages if they come first."""
        if self._reading is None:
            self._reading = asyncio.create_task(read())
        reading = self._reading
        if not self._said and not reading.done():
            news = asyncio.create_task(self._news.wait())
            try:
                await asyncio.wait({reading, news}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                news.cancel()
        if self._said:
            events, self._said = self._said, Said()
            self._news.clear()
            return events
        self._reading = None
        result: T = reading.result()
        return result

    async def finish(self) -> Said:
        """Pass on no further message; the events of those that were read until the end.

        An agent can read the message on its way as its last deed.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST), self._way:
                self._passing.cancel()
        return self._said

    async def close(self) -> None:
        """Stop; what was not delivered stays unread."""
        for task in (self._passing, self._reading):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task

    async def _pass_on(self) -> None:
        if self._prepare is not None:
            await self._prepare()
        accepted = self._ctx.inbox.accepted
        while (message := await self._ctx.inbox.wait()) is not None:
            # Listed first: the agent can send its events before it answers this request.
            accepted.append(message)
            async with self._way:
                try:
                    delivery = await self._deliver(message)
                except Exception as error:
                    self._ctx.log.warning("message not passed on", error=repr(error))
                    delivery = Delivery.REFUSED
                if delivery is not Delivery.KEPT and message in accepted:
                    accepted.remove(message)
                if delivery is Delivery.READ:
                    self._said.extend(self._ctx.inbox.passed_on(message))
                    self._news.set()
