"""Compares the objects of the file store with their rows: after a restore both can differ."""

import asyncio
from typing import NamedTuple

from agui_host.backends.file_store import file_store
from events.models import SealedObject
from events.sealed import blocks

PREFIX = "sealed"


class Audit(NamedTuple):
    """``missing`` objects have a row, ``unknown`` ones have none."""

    objects: int
    missing: list[str]
    unknown: list[str]


def run() -> Audit:
    """Compare keys only. Raises OSError."""
    # First the keys: the row of an object is there before it.
    stored = set(file_store().keys(PREFIX))
    rows = SealedObject.objects.values_list("place", "pk", "state")
    known = {blocks.key(place, pk): state for place, pk, state in rows}
    in_use = {each for each, state in known.items() if state in ("sealed", "stale")}
    return Audit(len(known), sorted(in_use - stored), sorted(stored - known.keys()))


def delete(keys: list[str]) -> None:
    """Delete objects that have no row."""
    for key in keys:
        asyncio.run(file_store().delete(key))
