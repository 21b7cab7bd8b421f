"""The database's clock: it decides every time and the order of ids, since processes' clocks differ.

Each process reads it now and then and lets its monotonic clock count from there, so a wall clock
that is wrong, or that is set while the process runs, changes nothing.
"""

import threading
import time
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

import psycopg

from agui_host.protocol.ids import above, uuid7, uuid7_seconds

STALE = 60.0
"""A connection that is opened reads the clock if the latest reading is so many seconds old."""
ROUGH = 0.5
"""A reading with a possibly larger error does not replace a recent one."""
TOLERATED = 1.0
"""Seconds by which a process's wall clock can differ."""
SURPASSED = 1.0
"""An id is made above the process's previous one only if that is at most so many seconds ahead."""
READ = "select extract(epoch from clock_timestamp())::float8"


class Reading(NamedTuple):
    """The database's clock at a moment of the monotonic one; ``slack`` is the largest error."""

    database: float
    monotonic: float
    slack: float


latest: Reading | None = None
_newest = UUID(int=0)
_making = threading.Lock()


def read(raw: "psycopg.Connection[Any]") -> Reading:
    """Read the clock by this connection, outside of Django's cursors."""
    global latest
    with psycopg.Cursor(raw) as cursor:
        began = time.monotonic()
        moment = cursor.execute(READ).fetchone()
        ended = time.monotonic()
    assert moment is not None  # noqa: S101  for mypy
    reading = Reading(float(moment[0]), (began + ended) / 2, (ended - began) / 2)
    if reading.slack <= ROUGH or is_stale():
        latest = reading
    return reading


def is_stale() -> bool:
    """Whether it is time to read the clock again."""
    return latest is None or time.monotonic() - latest.monotonic > STALE


def seconds() -> float:
    """The database's time in epoch seconds; before the first connection, this process's."""
    reading = latest
    if reading is None:
        return time.time()
    return reading.database + time.monotonic() - reading.monotonic


def now() -> datetime:
    """The database's time."""
    return datetime.fromtimestamp(seconds(), UTC)


def new_id() -> UUID:
    """A UUIDv7 of the database's time; rising, as far as this process makes them."""
    global _newest
    with _making:
        moment = seconds()
        made = uuid7(moment)
        if made <= _newest and uuid7_seconds(_newest) <= moment + SURPASSED:
            made = above(_newest)
        _newest = made
        return made


def ahead() -> float | None:
    """Seconds by which this process's wall clock is ahead (negative: behind), if it is wrong."""
    reading = latest
    if reading is None:
        return None
    by = time.time() - seconds()
    return round(by, 1) if abs(by) - reading.slack > TOLERATED else None
