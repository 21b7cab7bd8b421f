"""The base of a middleware: a transformer of one run's stream of events. Imports no Django."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from agui_host.protocol.part_kinds import STREAMED
from agui_host.runtimes.context.run_context import RunContext

Wire = dict[str, Any]

DELTAS = {kind.content: kind.key for kind in STREAMED}
"""The events that carry a piece of a text, and the field with that text's id."""

ENDS = {kind.end: kind.key for kind in STREAMED}


class Options(BaseModel):
    """The options of a middleware besides its ``name``; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Middleware:
    """Takes a run's events and returns events; one instance per run.

    Events are dicts in wire form that passed the gate, chunks expanded; they can be changed.
    ``feed`` and ``rest`` are enough for most; a middleware that emits by itself (a timer, a task)
    overrides ``stream``, which a cancel interrupts at its ``await``.
    """

    Options: ClassVar[type[Options]] = Options
    of_team: ClassVar[bool] = False
    """Whether a team can use it without the operator: nothing in its options reaches the host."""

    def __init__(self, options: Any, ctx: RunContext) -> None:
        self.options = options
        self.ctx = ctx

    def feed(self, event: Wire) -> Iterable[Wire]:
        """The events to send on for this event."""
        return (event,)

    def rest(self) -> Iterable[Wire]:
        """The events still due when the stream ends, normally or early."""
        return ()

    async def stream(self, events: AsyncIterator[Wire]) -> AsyncGenerator[Wire, None]:
        """The transformed stream. Exceptions of ``events`` pass through."""
        async for event in events:
            for out in self.feed(event):
                yield out
        for out in self.rest():
            yield out
