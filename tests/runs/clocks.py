"""What a process takes for the database's time, as a test wants it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from unittest.mock import patch

from agui_host.backends.postgres import clock


@contextmanager
def ahead(seconds: float) -> Iterator[None]:
    """The database's clock is taken to be so many seconds ahead; negative: behind."""
    reading = clock.Reading(clock.seconds() + seconds, time.monotonic(), 0.0)
    with patch.object(clock, "latest", reading):
        yield


def at(moment: datetime) -> clock.Reading:
    """A reading for ``clock.latest``: it is that moment, and time goes on from there."""
    return clock.Reading(moment.timestamp(), time.monotonic(), 0.0)
