"""Compares this process's wall clock with the database's, for as long as the process lives."""

import asyncio
from contextlib import suppress

import structlog
from django.db import connection
from procrastinate.contrib.django.utils import connector_params

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.bridge import db
from agui_host.backends.postgres.deadlines import look_around

log = structlog.get_logger(__name__)

EVERY = 20.0
"""Seconds between two readings."""


class ClockWatch:
    """The watch of one process: it logs a difference once, and again when it has changed."""

    def __init__(self) -> None:
        self._reported: float | None = None

    async def run(self) -> None:
        """Compare again and again, also after the database was away."""
        while True:
            with suppress(Exception):
                await db(self.run_once)
            await asyncio.sleep(EVERY)

    def run_once(self) -> None:
        """Read the database's clock; log it if this process's differs now, or agrees again.

        Where the address names several hosts, a promotion is noticed as well, also by a process
        whose connections to the old primary still work.
        """
        look_around(connector_params())
        connection.ensure_connection()
        clock.read(connection.connection)
        ahead, reported = clock.ahead(), self._reported
        if ahead is None:
            if reported is not None:
                log.info("clock.agrees")
        elif reported is None or abs(ahead - reported) > clock.TOLERATED:
            log.warning("clock.differs", seconds_ahead=ahead)
        else:
            return
        self._reported = ahead
