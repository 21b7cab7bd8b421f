"""The chain of one agent: ``Agent.middleware`` checked, built for a run, and run."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from typing import Any

from agui_host.protocol.sizes import LongEvent, is_large
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.middleware.base import Middleware, Options, Wire
from agui_host.runtimes.middleware.table import MIDDLEWARE
from agui_host.runtimes.options import parse_options


def parse(entries: Any) -> list[tuple[type[Middleware], Options]]:
    """Each entry ``{"name": …, option: …}`` as its class and options. Raises BadOptions."""
    return parse_options(entries, MIDDLEWARE, "middleware", "log")


class Chain:
    """The middleware of one run, in order: the first one is next to the agent."""

    def __init__(self, entries: Any, ctx: RunContext) -> None:
        self._links = [kind(options, ctx) for kind, options in parse(entries)]

    async def stream(self, events: AsyncGenerator[Wire, None]) -> AsyncGenerator[Wire, None]:
        """``events`` through every middleware; closing this closes each of them, then ``events``.

        Nothing is read ahead here, so a slow reader slows the agent.
        """
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(aclosing(events))
            for link in self._links:
                events = await stack.enter_async_context(aclosing(link.stream(events)))
            async for event in events:
                yield LongEvent(event) if is_large(event) else event

    def rest(self) -> list[Wire]:
        """After the stream was cut short: the events still due, passed through the later ones."""
        events: list[Wire] = []
        for link in self._links:
            events = [out for event in events for out in link.feed(event)]
            events.extend(link.rest())
        return events
