"""A migration gives up waiting for a lock, lets others pass, and tries again.

PostgreSQL queues every later statement on a table behind a change that waits for its lock, so one
long transaction and one migration together would stop the host.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.db import DatabaseError, OperationalError, connections
from psycopg.errors import DeadlockDetected, LockNotAvailable

WAITS = ("300ms", "1100ms")
"""How long a statement of a migration waits for a lock, in turns. PostgreSQL looks for a deadlock
after a second (``deadlock_timeout``). In a short try the migration gives up before that, which a
start that it is locked with would otherwise do. A long one stops an autovacuum that holds the
table."""
TRIES = 30
PAUSE = 4.0
"""Seconds between two tries, in which the statements that had to wait go on."""
BUSY = "A table is in use by a long transaction; trying again in {:g} s, {} times at most."


def patiently(alias: str, step: Callable[[str], object], say: Callable[[str], Any]) -> None:
    """Do a step that can be done again. Raises OperationalError after ``TRIES``.

    The step is told how long its statements wait for a lock in this try.

    Django applies each migration in a transaction, so a second try begins with the failed one.
    """
    for turn in range(TRIES):
        left = TRIES - 1 - turn
        try:
            limit(alias, WAITS[turn % 2])
            step(WAITS[turn % 2])
        except OperationalError as error:
            busy = isinstance(error.__cause__, LockNotAvailable | DeadlockDetected)
            if not busy or not left:
                raise
            say(BUSY.format(PAUSE, left))
            time.sleep(PAUSE)
        else:
            return
        finally:
            with suppress(DatabaseError):  # a connection that is lost has no setting to restore
                limit(alias, "default")


def limit(alias: str, waits: str) -> None:
    """Set how long a connection's statements wait for a lock: a time, 0 for ever, or default."""
    with connections[alias].cursor() as cursor:
        cursor.execute(f"set lock_timeout to {waits if waits == 'default' else repr(waits)}")
