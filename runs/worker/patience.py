"""When a process may judge others by their heartbeats: not right after the database was away.

After an outage, a failover or a laptop's sleep every heartbeat is old, also those of live workers.
The first process to look would end all their runs. So a process that finds the database answering
again, or has just started, gives the workers time to beat before it judges.
"""

import time
from collections.abc import Callable

from django.conf import settings

BEAT_DEADLINE = 4.0
"""Seconds after which a heartbeat that the database does not answer is given up."""
MARGIN = 1.0


def looking_every() -> float:
    """Seconds between two looks; never so many that an outage falls between them."""
    return min(settings.AGUI_REAP_EVERY, _longest_gap() / 2)


class Patience:
    """One process's view of the database; call ``may_judge`` whenever it has answered."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """``wall`` continues while the machine sleeps, as the heartbeats' clock does."""
        self._clock, self._wall = clock, wall
        self._answered_at = float("-inf")
        self._steady_since = 0.0

    def may_judge(self) -> bool:
        """Whether each live worker has had the time to beat since the database is back."""
        now, wall = self._clock(), self._wall()
        if wall - self._answered_at > _longest_gap():
            self._steady_since = now
        self._answered_at = wall
        return now - self._steady_since >= _grace()


def _longest_gap() -> float:
    # A shorter outage leaves every live worker's heartbeat young enough.
    return float(settings.AGUI_WORKER_LOST_AFTER - settings.AGUI_HEARTBEAT)


def _grace() -> float:
    # A worker can just have begun a beat that fails, and then waits for the next one.
    return float(settings.AGUI_HEARTBEAT + BEAT_DEADLINE + MARGIN)
