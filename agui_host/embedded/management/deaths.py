"""A supervisor's work when a worker has died: end its registration and its runs at once.

In a separate thread with a separate connection: the supervisor waits for no database.
"""

import threading
import time

import structlog
from django.db import DatabaseError, InterfaceError, connection

from agui_host.backends.postgres.base import own_connection

log = structlog.get_logger(__name__)
PAUSES = (0.1, 0.3, 1.0, 3.0)
"""Seconds between tries. After them the reapers of other processes end the runs."""
DEADLINE = 8.0
LAST = 3.0
"""Seconds that a supervisor which ends waits for this."""
_threads: list[threading.Thread] = []


def bury(worker_id: int) -> None:
    """Begin to end what that worker has left; returns at once."""
    thread = threading.Thread(target=bury_now, args=(worker_id,), name="deaths", daemon=True)
    _threads[:] = [each for each in _threads if each.is_alive()] + [thread]
    thread.start()


def settle(seconds: float = LAST) -> bool:
    """Wait for begun work, at most ``seconds``; whether all of it is done."""
    until = time.monotonic() + seconds
    for thread in _threads:
        thread.join(max(0.0, until - time.monotonic()))
    return not any(thread.is_alive() for thread in _threads)


def bury_now(worker_id: int) -> None:
    """End what that worker has left; a few tries if the database does not answer."""
    from runs.worker import reaper  # a supervisor whose worker lives does without it

    for pause in (*PAUSES, None):
        try:
            own_connection("agui-supervisor", deadline=DEADLINE)
            reaper.bury(worker_id)
            break
        except (DatabaseError, InterfaceError) as error:
            log.warning("supervisor.not_buried", worker=worker_id, error=str(error))
            if pause is not None:
                time.sleep(pause)
        finally:
            connection.close()
