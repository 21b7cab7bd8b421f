"""Server-sent events, from bytes in any pieces to frames. Bounded, and it keeps the cursor.

Ready-made parsers return events only; a cursor also moves with frames that have no data.
"""

import codecs
import re
from dataclasses import dataclass

MAX_FRAME = 32 * 1024 * 1024
_END_OF_LINE = re.compile(r"\r\n|\n|\r")


class FrameTooLarge(ValueError):
    """A frame is larger than a client should buffer."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One dispatched frame: its ``id`` (the newest one seen) and its data; None without data."""

    id: str | None
    data: str | None
    event: str = ""


class Decoder:
    """Feed it bytes as they arrive; it returns the frames that are complete."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._rest: list[str] = []
        self._data: list[str] = []
        self._event = ""
        self._size = 0
        self._id: str | None = None
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[Frame]:
        """Raises FrameTooLarge."""
        text = self._decode(chunk)
        if self._after_cr and text:
            text = text.removeprefix("\n")  # the second half of a CRLF that was split
            self._after_cr = False
        self._after_cr = self._after_cr or text.endswith("\r")
        self._size += len(text)
        if self._size > MAX_FRAME:
            raise FrameTooLarge(f"more than {MAX_FRAME:,} characters without an end")
        *lines, rest = _END_OF_LINE.split(text)
        if not lines:
            self._rest.append(rest)
            return []
        lines[0] = "".join([*self._rest, lines[0]])
        self._rest = [rest]
        frames = []
        for line in lines:
            if line:
                self._field(line)
            else:
                self._size = len(rest)
                data = "\n".join(self._data) if self._data else None
                frames.append(Frame(self._id, data, self._event))
                self._data, self._event = [], ""
        return frames

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value
