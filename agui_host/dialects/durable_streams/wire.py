"""Durable Streams 1.0: a run's log as a stream of JSON messages, one for each event.

An offset is the ``seq`` of the last event before it, with 16 digits, so that offsets sort as text;
behind its epoch, with as many, if that is not the first.
A page is a JSON array; a live stream is server-sent ``data`` events, each followed by a ``control``
event with the next offset. Payloads are sent as stored.
"""

import random
import time
from collections.abc import Sequence

from agui_host.protocol.ids import FIRST_EPOCH, epoch_of
from agui_host.protocol.input import numbers
from agui_host.protocol.input.numbers import whole
from agui_host.protocol.strict_json import dumps

BEGINNING, NOW = "-1", "now"
LONG_POLL, SSE = "long-poll", "sse"
NEXT_OFFSET, UP_TO_DATE = "stream-next-offset", "stream-up-to-date"
CLOSED, CURSOR = "stream-closed", "stream-cursor"
TRUE = "true"

_DIGITS = 16
"""Of an offset: as text, they have the order of their numbers."""
_MOST_SEQ = 10**_DIGITS - 1
_MOST_CURSOR = 10**15 - 1
_INTERVAL, _EPOCH, _JITTER = 20, 1_728_432_000, 3600
"""Cursors count intervals of so many seconds since 2024-10-09; the specification's defaults."""


def offset(seq: int) -> str:
    """The offset after the event ``seq``."""
    epoch = epoch_of(seq)
    return f"{epoch:0{_DIGITS}d}-{seq:0{_DIGITS}d}" if epoch > FIRST_EPOCH else f"{seq:0{_DIGITS}d}"


def position(text: str | None, head: int) -> int:
    """The ``seq`` behind which an offset reads; absent is the beginning. Raises ValueError."""
    if text is None or text == BEGINNING:
        return 0
    if text == NOW:
        return head
    seq = numbers.position(text, _MOST_SEQ) if all(map(_is_full, text.split("-"))) else None
    if seq is None:
        raise ValueError(text)
    return seq


def _is_full(number: str) -> bool:
    return len(number) == _DIGITS


def cursor(previous: str | None, now: float | None = None) -> str:
    """A cursor for caches, always beyond the client's last one."""
    interval = int(((time.time() if now is None else now) - _EPOCH) // _INTERVAL)
    known = None if previous is None else whole(previous, interval, _MOST_CURSOR)
    if known is not None:
        jitter = random.randint(1, _JITTER) // _INTERVAL  # noqa: S311
        interval = known + max(1, jitter)
    return str(interval)


def entity_tag(stream: str, after: int, last: int, *, closed: bool) -> str:
    """The ETag of the page from ``after`` to ``last``; another one once the stream is closed."""
    return f'"{stream}:{offset(after)}:{offset(last)}{":c" if closed else ""}"'


def tail(last: int, *, up_to_date: bool, closed: bool) -> dict[str, str]:
    """The headers that say where an answer ends and where to continue."""
    headers = {NEXT_OFFSET: offset(last)}
    if up_to_date:
        headers[UP_TO_DATE] = TRUE
    if closed:
        headers[CLOSED] = TRUE
    return headers


def data(payloads: Sequence[bytes]) -> bytes:
    """A server-sent event with these messages; empty without any."""
    return b"event: data\ndata: [%b]\n\n" % b",".join(payloads) if payloads else b""


def control(last: int, previous: str | None, *, up_to_date: bool, closed: bool) -> bytes:
    """The server-sent event after the messages up to ``last``."""
    members: dict[str, str | bool] = {"streamNextOffset": offset(last)}
    if not closed:
        members["streamCursor"] = cursor(previous)
    if up_to_date or closed:
        members["upToDate"] = True
    if closed:
        members["streamClosed"] = True
    return b"event: control\ndata: %b\n\n" % dumps(members).encode()
