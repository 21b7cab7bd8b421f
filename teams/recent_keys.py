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

from teams import keys, revocation
from teams.models import ApiKey

MOST = 1_000


class Found(NamedTuple):
    """A usable key; until which ``time.monotonic`` and which revocation it is taken as read."""

    row: ApiKey
    until: float
    revocations: int


_found: OrderedDict[bytes, Found] = OrderedDict()
_guard = threading.Lock()


def find(key: str) -> ApiKey | None:
    """``keys.find``, or what it returned for this text a moment ago. Callers must not change it."""
    seconds: float = settings.AGUI_KEY_CACHE_SECONDS
    if not seconds:
        return keys.find(key)
    place = sha256(key.encode(errors="surrogatepass")).digest()
    # Counted before the key is read: a revocation between the two must not be missed.
    revocations, now = revocation.count(), time.monotonic()
    recent = _found.get(place)
    if recent is not None and recent.until > now and recent.revocations == revocations:
        return recent.row if keys.opens(recent.row) else None
    row = keys.find(key)
    with _guard:
        _found.pop(place, None)
        if row is not None:
            _found[place] = Found(row, now + seconds, revocations)
        while len(_found) > MOST:
            _found.popitem(last=False)
    return row
