"""The last lines that an agent wrote to ``ctx.log``, for the people who look after a failed run."""

import time
from collections import deque
from typing import Any, NamedTuple

LINES = 50
LONGEST = 1_000
"""Characters of a line."""
LEVELS = frozenset(
    {"debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "msg"}
)
BINDING = frozenset({"bind", "unbind", "try_unbind", "new"})


class Line(NamedTuple):
    """``at`` is in milliseconds; ``text`` is the message with its values."""

    at: int
    level: str
    text: str


class LogLines:
    """A structlog logger that also puts each line into ``lines``, which stay in memory."""

    def __init__(self, logger: Any, lines: "deque[Line]") -> None:
        self._logger, self.lines = logger, lines

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._logger, name)
        if name in BINDING:
            return lambda *names, **values: LogLines(attribute(*names, **values), self.lines)
        if name not in LEVELS:
            return attribute

        def write(event: Any = None, *args: Any, **values: Any) -> Any:
            self.lines.append(Line(int(time.time() * 1000), name, _text(event, args, values)))
            return attribute(event, *args, **values)

        return write


def _text(event: Any, args: tuple[Any, ...], values: dict[str, Any]) -> str:
    try:
        message = str(event) % args if args else str(event)
        pairs = (f"{key}={value!s:.{LONGEST}}" for key, value in values.items())
        return " ".join([message, *pairs])[:LONGEST]
    except Exception as error:  # A value that cannot be shown must not fail the agent.
        return f"(a line that cannot be shown: {type(error).__name__})"
