"""Keys found a moment ago, so that requests that follow one another do not read theirs again.

A revocation in this process counts at once. One in another process counts after
``AGUI_KEY_CACHE_SECONDS``, as do changed limits of the key's team.
"""

import threading
import time
from collections import OrderedDict
from hashlib import sha256
from typing import NamedTuple

from django.conf import settings

from agui_host.teams import keys, revocation
from agui_host.teams.models import ApiKey

MOST = 1_000


class Found(NamedTuple):
    """A usable key; until which ``time.monotonic`` and which revocation it is taken as read."""

    row: ApiKey
    until: float
    revocations: int


_found: OrderedDict[bytes, Found] = OrderedDict()
_guard = threading.Lock()


def at_hand(key: str) -> ApiKey | None:
    """The usable key if it was found a moment ago, and its use was noted: without the database."""
    row = _recent(key)
    return row if row is not None and keys.opens(row) and not keys.is_to_be_noted(row) else None


def find(key: str) -> ApiKey | None:
    """``keys.find``, or its result for this text a moment ago. Callers must not change it."""
    seconds: float = settings.AGUI_KEY_CACHE_SECONDS
    if not seconds:
        return keys.find(key)
    # Counted before the key is read: a revocation between the two must not be missed.
    revocations, now = revocation.count(), time.monotonic()
    if (recent := _recent(key)) is not None:
        return recent if keys.opens(recent) else None
    place, row = _place(key), keys.find(key)
    with _guard:
        _found.pop(place, None)
        if row is not None:
            _found[place] = Found(row, now + seconds, revocations)
        while len(_found) > MOST:
            _found.popitem(last=False)
    return row


def _recent(key: str) -> ApiKey | None:
    recent = _found.get(_place(key))
    if recent is None or recent.revocations != revocation.count():
        return None
    return recent.row if recent.until > time.monotonic() else None


def _place(key: str) -> bytes:
    return sha256(key.encode(errors="surrogatepass")).digest()
