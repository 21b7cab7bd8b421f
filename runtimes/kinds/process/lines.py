"""Lines of a command's output as AG-UI events: events, a dialect's JSON, or plain text. Pure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from protocol.errors import RunErrorCode, RunFailed
from protocol.schema import TERMINAL
from runtimes.kinds.process import dialect
from runtimes.kinds.process.claude import Claude
from runtimes.kinds.process.codex import Codex
from runtimes.kinds.process.dialect import Dialect, Event
from runtimes.kinds.process.steps import Steps

DIALECTS: dict[str, type[Dialect]] = {"claude": Claude, "codex": Codex}
EVENT_TYPE = re.compile(r"[A-Z][A-Z_]+")


class Lines:
    """What one command prints. ``output``: auto, text, or the name of a dialect. ``marker``: what
    a line of text begins with that is the name of the step that begins there; "" for none.

    ``terminal`` is the event that the command itself ended its run with: it is kept back, since
    the command may still be at work, and what is printed after it is dropped.
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
        self._waiting: list[str] = []  # lines of it that no delta has said yet

    def feed(self, lines: Iterable[bytes]) -> Iterator[Event]:
        """The events of lines that came together; lines of text in a row are one delta.

        Without their newlines. Raises RunFailed where one is no text, after the events before.
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
            said = line.decode()
        except UnicodeDecodeError:
            said = "\0"
        if "\0" in said:
            yield from self._flush()
            raise RunFailed(
                RunErrorCode.INVALID_EVENT,
                f"Line {self.count} of the command's output is not UTF-8 text.",
            )
        found = self._object(said)
        if found is None:
            yield from self._text(said)
            return
        yield from self.close()
        if EVENT_TYPE.fullmatch(str(found.get("type"))):
            if found["type"] in TERMINAL:
                self.terminal = found
            else:
                yield found
        elif self.dialect is not None:
            yield from self.steps.around(self.dialect.feed(found))

    def _object(self, said: str) -> dict[str, Any] | None:
        """The line as an event or as a line of a dialect; None if it is plain text."""
        if not (self._auto or self.dialect) or not said.startswith("{"):
            return None
        try:
            found = json.loads(said)
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or not isinstance(kind := found.get("type"), str):
            return None
        if self.dialect is None and self._auto:
            self.dialect = next(
                (D(self._prefix, self._before) for D in DIALECTS.values() if D.speaks(found)), None
            )
        return found if self.dialect is not None or EVENT_TYPE.fullmatch(kind) else None

    def _text(self, said: str) -> Iterator[Event]:
        if self._marker and said.startswith(self._marker):
            yield from self.close()
            yield from self.steps.begin(said.removeprefix(self._marker))
            return
        if self._message is None:
            if not said.strip():
                return
            self._message = f"{self._prefix}-line-{self.count}"
            yield dialect.text_start(self._message)
        self._waiting.append(said.removesuffix("\r") + "\n")

    def _flush(self) -> Iterator[Event]:
        if self._waiting and self._message is not None:
            yield dialect.text_delta(self._message, "".join(self._waiting))
            self._waiting.clear()
