"""Lines of a command's output as AG-UI events: events, a dialect's JSON, or plain text. Pure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agui_host.backends.apart import SMALL
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.schema import TERMINAL
from agui_host.protocol.sizes import LongEvent
from agui_host.runtimes.kinds.process import dialect
from agui_host.runtimes.kinds.process.claude import Claude
from agui_host.runtimes.kinds.process.codex import Codex
from agui_host.runtimes.kinds.process.dialect import Dialect, Event
from agui_host.runtimes.kinds.process.steps import Steps

DIALECTS: dict[str, type[Dialect]] = {"claude": Claude, "codex": Codex}
EVENT_TYPE = re.compile(r"[A-Z][A-Z_]+")


class Lines:
    """A command's output, line by line. ``output``: auto, text, or the name of a dialect.

    ``marker``: a line of text that begins with it starts a step, which is named by the rest of the
    line; "" for none. ``terminal`` is the event with which the command itself ended its run: it is
    held back, since the command can still be at work, and later output is dropped.
    """

    def __init__(
        self,
        output: str,
        prefix: str,
        before: Mapping[str, int] | None = None,
        marker: str = "",
    ) -> None:
        self.steps = Steps()
        self._marker = marker
        self.dialect = DIALECTS[output](prefix, before) if output in DIALECTS else None
        self._before = before
        self.terminal: Event | None = None
        self.count = 0
        self._auto = output == "auto"
        self._prefix = prefix
        self._message: str | None = None
        self._waiting: list[str] = []  # lines of it that no delta has sent yet

    def feed(self, lines: Iterable[bytes]) -> Iterator[Event]:
        """The events of lines that came together; consecutive lines of text are one delta.

        Without their newlines. Raises RunFailed at a line that is not text, after the events
        before.
        """
        for line in lines:
            yield from self._line(line)
        yield from self._flush()

    def close(self) -> Iterator[Event]:
        """End the message of plain text, if one is open."""
        yield from self._flush()
        if self._message is not None:
            yield dialect.text_end(self._message)
            self._message = None

    def _line(self, line: bytes) -> Iterator[Event]:
        self.count += 1
        if self.terminal is not None:
            return
        try:
            text = line.decode()
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            yield from self._flush()
            raise RunFailed(
                RunErrorCode.INVALID_EVENT,
                f"Line {self.count} of the command's output is not UTF-8 text.",
            )
        event = self._object(text)
        if event is None:
            yield from self._text(text)
            return
        yield from self.close()
        if EVENT_TYPE.fullmatch(str(event.get("type"))):
            if event["type"] in TERMINAL:
                self.terminal = event
            else:
                yield event if len(text) <= SMALL else LongEvent(event)
        elif self.dialect is not None:
            yield from self.steps.around(self.dialect.feed(event))

    def _object(self, text: str) -> dict[str, Any] | None:
        """The line as an event or as a line of a dialect; None if it is plain text."""
        if not (self._auto or self.dialect) or not text.startswith("{"):
            return None
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(event, dict) or not isinstance(kind := event.get("type"), str):
            return None
        if self.dialect is None and self._auto:
            self.dialect = next(
                (D(self._prefix, self._before) for D in DIALECTS.values() if D.speaks(event)), None
            )
        return event if self.dialect is not None or EVENT_TYPE.fullmatch(kind) else None

    def _text(self, text: str) -> Iterator[Event]:
        if self._marker and text.startswith(self._marker):
            yield from self.close()
            yield from self.steps.begin(text.removeprefix(self._marker))
            return
        if self._message is None:
            if not text.strip():
                return
            self._message = f"{self._prefix}-line-{self.count}"
            yield dialect.text_start(self._message)
        self._waiting.append(text.removesuffix("\r") + "\n")

    def _flush(self) -> Iterator[Event]:
        if self._waiting and self._message is not None:
            yield dialect.text_delta(self._message, "".join(self._waiting))
            self._waiting.clear()
