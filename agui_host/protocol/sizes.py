"""Sizes: how large one event may be, and how much an event weighs in memory."""

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


MEMBER, ELEMENT, ARRAY, OBJECT = 80, 40, 80, 150
"""Bytes of memory for each colon, comma and bracket of JSON, in addition to its text. Measured with
objects of many and of few members, arrays of numbers and empty arrays, it is 1 to 2 times what they
take, up to 5 times for arrays of small integers."""


def memory_of(payload: bytes | str) -> int:
    """About how many bytes the parsed value of a JSON text takes."""
    if isinstance(payload, bytes):
        members, elements = payload.count(b":"), payload.count(b",")
        arrays, objects = payload.count(b"["), payload.count(b"{")
    else:
        members, elements = payload.count(":"), payload.count(",")
        arrays, objects = payload.count("["), payload.count("{")
    values = MEMBER * members + ELEMENT * elements + ARRAY * arrays + OBJECT * objects
    return len(payload) + values


def weight(payload: bytes | str) -> int:
    """The length of a JSON text, plus ``CONTAINER_BYTES`` for each bracket that opens.

    Brackets in strings count too, so this is an upper bound.
    """
    if isinstance(payload, bytes):
        opened = payload.count(b"[") + payload.count(b"{")
    else:
        opened = payload.count("[") + payload.count("{")
    return len(payload) + CONTAINER_BYTES * opened
