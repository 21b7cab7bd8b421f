"""Server-sent events as real servers send them: any line end, any split, bounded in size.

Our own parser, since httpx-sse splits text at every Unicode line end (U+2028 can occur in
JSON) and buffers without limit until a newline comes.
"""

import re

from agui_host.protocol.errors import RunErrorCode, RunFailed

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class SseParser:
    """Feed it bytes, get the data of each complete event as text.

    At most ``max_bytes`` are buffered for one event. Bytes that are not UTF-8 become U+FFFD;
    comments and fields other than ``data`` are skipped.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._scanned = 0
        self._data: list[bytes] = []
        self._size = 0
        self._begun = False
        self._after_cr = False
        self._too_large = False

    def feed(self, chunk: bytes) -> list[str]:
        """The events that ``chunk`` completes. Raises RunFailed(EVENT_TOO_LARGE) one call late.

        The events before the too large one are returned first.
        """
        self._refuse()
        buffer, events, start = self._buffer, list[str](), 0
        buffer += chunk
        if not self._begun and not self._begin():
            return events
        if self._after_cr and buffer:
            start = 1 if buffer[0] == 0x0A else 0
            self._after_cr = False
        search = max(start, self._scanned)
        while match := _LINE_END.search(buffer, search):
            line, start = bytes(buffer[start : match.start()]), match.end()
            search = start
            if line:
                self._take(line)
            elif self._data:
                events.append(self._event())
        self._after_cr = start == len(buffer) > 0 and buffer[-1] == 0x0D
        del buffer[:start]
        self._scanned = len(buffer)
        self._too_large = self._too_large or self._size + len(buffer) > self._max_bytes
        return events

    @property
    def size(self) -> int:
        """The bytes of an event that is not complete."""
        return self._size + len(self._buffer)

    def close(self) -> list[str]:
        """The last event, complete but for its empty line. Raises RunFailed(EVENT_TOO_LARGE)."""
        self._refuse()
        line = bytes(self._buffer)
        self._buffer.clear()
        if line:
            self._take(line)
        return [self._event()] if self._data else []

    def _begin(self) -> bool:
        """Skip a byte order mark; False while more bytes are needed to tell."""
        if len(self._buffer) < len(_BOM) and _BOM.startswith(self._buffer):
            return False
        if self._buffer.startswith(_BOM):
            del self._buffer[: len(_BOM)]
        self._begun = True
        return True

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(value) + 1

    def _event(self) -> str:
        data = b"\n".join(self._data).decode("utf-8", "replace")
        self._too_large = self._too_large or self._size > self._max_bytes
        self._data, self._size = [], 0
        return data

    def _refuse(self) -> None:
        if self._too_large:
            raise RunFailed(
                RunErrorCode.EVENT_TOO_LARGE,
                f"The remote agent sent an event or line of more than {self._max_bytes:,} bytes.",
            )
