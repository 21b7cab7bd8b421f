"""A worker's session that listens for runs that are due, and for cancels."""

import asyncio
from collections.abc import Callable

import psycopg
import structlog

from agui_host.backends.postgres.base import session_parameters
from agui_host.backends.postgres.deadlines import AsyncConnection
from runs.lifecycle import jobs

log = structlog.get_logger(__name__)
NAME = "agui-runs"
CHECK, PAUSE = 5.0, 0.5
"""Seconds of silence after which the session is tested, and between two tries to connect."""


async def listen(on_payload: Callable[[str], object]) -> None:
    """Pass on the payloads, and listen again after each break; the worker's looks cover those."""
    parameters = {**session_parameters(), "application_name": NAME, "autocommit": True}
    while True:
        try:
            async with await AsyncConnection.connect(**parameters) as connection:
                await connection.execute(f"listen {jobs.CHANNEL}")
                on_payload("")
                while True:
                    async for notification in connection.notifies(timeout=CHECK):
                        on_payload(notification.payload)
                    await connection.execute("select 1")
        except (psycopg.Error, OSError) as error:
            log.warning("worker.listening_again", error=repr(error))
        await asyncio.sleep(PAUSE)
