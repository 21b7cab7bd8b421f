"""Sizes: how large one event may be, and how much an event weighs in memory."""

import re
import secrets
from itertools import islice
from typing import Any

from agui_host.protocol.strict_json import MAX_VALUES, has_too_many_values

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
    if len(payload) > most:
        return True
    return len(payload) > MAX_VALUES and has_too_many_values(payload)


MEMBER, ELEMENT, QUOTE, ARRAY, OBJECT = 80, 40, 8, 80, 120
"""Bytes of memory for each colon, comma, quote and bracket of JSON, in addition to its text."""
POINTER = 10
"""Bytes for an element that Python has only once: a small integer, true, false, null."""
SAMPLED, WINDOWS, WINDOW = 64 * 1024, 32, 128
"""Texts of more bytes are looked at in some windows: how many elements are such ones."""
_once = re.compile(rb"[\[,] *(?:\d{1,2}|1\d\d|2[0-4]\d|25[0-6]|-[1-5]|true|false|null)(?= *[,\]])")
_WIDE = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4", b"\\ud", b"\\uD")
"""Where characters begin for which each character of their string takes four bytes."""


def memory_of(payload: bytes | str) -> int:
    """About how many bytes the parsed value of a JSON text takes.

    It is 1 to 2.3 times the memory of values, and up to 3 times that of texts beyond ASCII.
    """
    if isinstance(payload, str):
        payload = payload.encode(errors="surrogatepass")
    elements = ELEMENT * (commas := payload.count(b","))
    if len(payload) > SAMPLED and commas > len(payload) // 16:
        elements -= int((ELEMENT - POINTER) * commas * _part_once(payload))
    names = MEMBER * payload.count(b":") + QUOTE * payload.count(b'"')
    containers = ARRAY * payload.count(b"[") + OBJECT * payload.count(b"{")
    return _text_in_memory(payload) + elements + names + containers


def _text_in_memory(payload: bytes) -> int:
    """The bytes of the strings: one wide character makes each of its string's as wide."""
    if payload.isascii() and b"\\u" not in payload:
        return len(payload)
    return len(payload) * (4 if any(wide in payload for wide in _WIDE) else 2)


def _part_once(payload: bytes) -> float:
    """The part of the elements that Python has only once: 0.0 to 1.0.

    The windows are at random places, so nobody can arrange a text for them.
    """
    once = commas = 0
    stride = len(payload) // WINDOWS
    for number in range(WINDOWS):
        at = number * stride + secrets.randbelow(stride - WINDOW)
        window = payload[at : at + WINDOW]
        once, commas = once + len(_once.findall(window)), commas + window.count(b",")
    return once / max(1, commas)


def weight(payload: bytes | str) -> int:
    """The length of a JSON text, plus ``CONTAINER_BYTES`` for each bracket that opens.

    Brackets in strings count too, so this is an upper bound.
    """
    if isinstance(payload, bytes):
        opened = payload.count(b"[") + payload.count(b"{")
    else:
        opened = payload.count("[") + payload.count("{")
    return len(payload) + CONTAINER_BYTES * opened
