"""Sizes: how large one event may be, and how much an event weighs in memory."""

import re
import secrets
from itertools import islice
from typing import Any, TypeVar

from agui_host.protocol.patient_json import count
from agui_host.protocol.strict_json import has_too_many_values

MAX_EVENT_BYTES = 10 * 1024 * 1024
"""Stock clients refuse frames of 10 MiB and more."""
FRAMING = 64
"""Room for ``id:`` and ``data:``: a client's limit counts them too."""
CONTAINER_BYTES = 24
"""Added for each object or array, which takes far more memory than its two brackets."""


LARGE = 8_000
"""An event with more characters or values than this is handled in a thread."""


class LongEvent(dict[str, Any]):
    """An event that is too long to be read on an event loop: ``agui_host/backends/apart.py``."""


def is_large(event: Any) -> bool:
    """Whether an event is large; reads no more of it than needed."""
    room, waiting = LARGE, [event]
    while waiting and room > 0:
        part = waiting.pop()
        room -= len(part) if isinstance(part, str) else 8
        if isinstance(part, dict):
            waiting.extend(islice(part.values(), LARGE))
        elif isinstance(part, list):
            waiting.extend(islice(part, LARGE))
    return room <= 0


def is_too_large(payload: bytes, most: int) -> bool:
    """Whether an event's JSON is longer than ``most`` bytes or holds too many values."""
    return len(payload) > most or has_too_many_values(payload)


MEMBER, ELEMENT, QUOTE, ARRAY, OBJECT = 80, 40, 8, 80, 120
"""Bytes of memory for each colon, comma, quote and bracket of JSON, in addition to its text."""
POINTER = 10
"""Bytes for an element that Python has only once: a small integer, true, false, null."""
WINDOWS, WINDOW = 256, 128
SAMPLED = 2 * WINDOWS * WINDOW
"""A text of more bytes is looked at in so many windows of so many bytes."""
_once = re.compile(rb"[\[,] *(?:\d{1,2}|1\d\d|2[0-4]\d|25[0-6]|-[1-5]|true|false|null)(?= *[,\]])")
_WIDE = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
"""Where characters begin for which each character of their string takes four bytes."""
Text = TypeVar("Text", bytes, str)


def memory_of(payload: bytes | str) -> int:
    """About how many bytes the parsed value of a JSON text takes.

    It is 1 to 2.3 times the memory of values, and up to 3 times that of texts beyond ASCII. Of a
    long text only windows are counted, since each claim of a run waits for it.
    """
    if len(payload) <= SAMPLED:
        payload = sample = _bytes(payload)
        looked_at = max(1, len(sample))
    else:
        sample, looked_at = _windows(payload), WINDOWS * WINDOW
    commas = sample.count(b",")
    elements = ELEMENT * commas
    if commas > len(sample) // 16:
        elements -= (ELEMENT - POINTER) * len(_once.findall(sample))
    names = MEMBER * sample.count(b":") + QUOTE * sample.count(b'"')
    containers = ARRAY * sample.count(b"[") + OBJECT * sample.count(b"{")
    counted = (elements + names + containers) * len(payload) // looked_at
    return len(payload) * _width(payload) + counted


def _bytes(payload: bytes | str) -> bytes:
    return payload if isinstance(payload, bytes) else payload.encode(errors="surrogatepass")


def _windows(payload: bytes | str) -> bytes:
    """A window of each stretch, at a random place: nobody can arrange a text for them."""
    stride = len(payload) // WINDOWS
    places = (n * stride + secrets.randbelow(stride - WINDOW) for n in range(WINDOWS))
    return b"".join([_bytes(payload[at : at + WINDOW]) for at in places])


def _width(payload: bytes | str) -> int:
    """The bytes of a character in memory: a wide one makes each of its string's as wide."""
    own = 1
    if isinstance(payload, bytes):
        if not payload.isascii():
            own = 4 if any(wide in payload for wide in _WIDE) else 2
        return max(own, _width_of_escapes(payload, b"\\", b"u", b"ud", b"uD"))
    if not payload.isascii():
        # A copy has only its characters, as wide as they must be.
        own = max(2, payload[1:].__sizeof__() // len(payload))
    return max(own, _width_of_escapes(payload, "\\", "u", "ud", "uD"))


def _width_of_escapes(payload: Text, escape: Text, any_: Text, *surrogates: Text) -> int:
    if escape not in payload:
        return 1
    if any(escape + each in payload for each in surrogates):
        return 4
    return 2 if escape + any_ in payload else 1


def weight(payload: bytes | str) -> int:
    """The length of a JSON text, plus ``CONTAINER_BYTES`` for each bracket that opens.

    Brackets in strings count too, so this is an upper bound.
    """
    return len(payload) + CONTAINER_BYTES * count(payload, "[{")
