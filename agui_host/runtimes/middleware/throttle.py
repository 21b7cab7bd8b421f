"""``throttle``: merges small deltas of one message, call or thought into fewer, larger ones."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any

from pydantic import Field

from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.middleware.base import DELTAS, Middleware, Options, Wire
from agui_host.runtimes.middleware.inlet import Inlet

LARGEST = 64 * 1024
"""A merged delta of this many characters is sent early."""

PLAIN = 3
"""Members of a delta that has nothing but its text; a timestamp may be the fourth."""


class ThrottleOptions(Options):
    """``ms``: how long a delta can be held so that the next ones can join it."""

    ms: int = Field(50, ge=1, le=10_000)


class Throttle(Middleware):
    """Holds at most one delta; any other event is sent after it, so the order stays."""

    Options = ThrottleOptions
    of_team = True
    options: ThrottleOptions

    def __init__(self, options: Any, ctx: RunContext) -> None:
        super().__init__(options, ctx)
        self._held: Wire | None = None
        self._texts: list[str] = []
        self._size = 0
        self._due = 0.0

    def feed(self, event: Wire) -> Iterable[Wire]:
        """The events to send now: deltas wait and are joined, others go out after them."""
        key = DELTAS.get(event["type"])
        if key is None or len(event) > PLAIN + ("timestamp" in event):
            return (*self.rest(), event)
        out: list[Wire] = []
        pending = self._held
        if pending is None or pending["type"] != event["type"] or pending[key] != event[key]:
            out.extend(self.rest())
            self._held = event
            self._due = time.monotonic() + self.options.ms / 1000
        self._texts.append(event["delta"])
        self._size += len(event["delta"])
        if self._size >= LARGEST or time.monotonic() >= self._due:
            out.extend(self.rest())
        return out

    def rest(self) -> Iterable[Wire]:
        """Give out the delta that is held."""
        if self._held is None:
            return ()
        merged = {**self._held, "delta": "".join(self._texts)}
        self._held, self._texts, self._size = None, [], 0
        return (merged,)

    async def stream(self, events: AsyncIterator[Wire]) -> AsyncGenerator[Wire, None]:
        """Throttle a stream: what waits is sent when its time has come."""
        async with Inlet(events) as inlet:
            while not inlet.over:
                while (event := inlet.take()) is not None:
                    for out in self.feed(event):
                        yield out
                left = None if self._held is None else self._due - time.monotonic()
                if left is not None and left <= 0:
                    for out in self.rest():
                        yield out
                    left = None
                if not inlet.over:
                    await inlet.wait(left)
            for out in self.rest():
                yield out
