"""``log``: one line for a run's stream, or for each event; types and sizes, never content."""

import time
from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.middleware.base import DELTAS, Middleware, Options, Wire


class LogOptions(Options):
    """``level`` of the lines; ``events``: also a line for each event that is not a delta."""

    level: Literal["debug", "info", "warning"] = "info"
    events: bool = False


class Log(Middleware):
    """Counts the events and logs the counts at the end; changes nothing."""

    Options = LogOptions
    options: LogOptions

    def __init__(self, options: Any, ctx: RunContext) -> None:
        super().__init__(options, ctx)
        self._log = getattr(ctx.log, self.options.level)
        self._types: Counter[str] = Counter()
        self._characters = 0
        self._began = time.monotonic()
        self._said = False

    def feed(self, event: Wire) -> Iterable[Wire]:
        """Count the event, log it if the options say so, and pass it on."""
        kind = event["type"]
        self._types[kind] += 1
        if kind in DELTAS:
            self._characters += len(event["delta"])
        elif self.options.events:
            self._log("middleware.event", type=kind)
        return (event,)

    def rest(self) -> Iterable[Wire]:
        """Log the sums of the stream, once."""
        if not self._said:
            self._said = True
            self._log(
                "middleware.stream",
                events=dict(self._types),
                characters=self._characters,
                seconds=round(time.monotonic() - self._began, 3),
            )
        return ()
