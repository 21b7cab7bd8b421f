"""Procrastinate's worker, made to outlive a restart of Postgres and to miss no job.

As it comes, a failed LISTEN or fetch stops the worker, and with it every run it executes:
a restart of the database would end runs that lost nothing. And a job that is announced while a
fetch is under way, or that waits for its thread's lock, is found by the next poll only.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

import structlog
from procrastinate.connector import Notify
from procrastinate.exceptions import ConnectorException
from procrastinate.psycopg_connector import PsycopgConnector
from procrastinate.worker import Worker

log = structlog.get_logger(__name__)
PAUSE = 0.5


class PatientConnector(PsycopgConnector):
    """Listens again after the connection was lost; the poll covers what was missed."""

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        channels = list(channels)
        while True:
            try:
                await super().listen_notify(on_notification=on_notification, channels=channels)
            except ConnectorException as error:
                log.warning("worker.listening_again", error=repr(error))
            await asyncio.sleep(PAUSE)


class Wakeups(asyncio.Event):
    """The worker's "there may be a job": it clears that after each fetch.

    What was set since the last ``clear`` may have come too late for the fetch just done, so it
    stays set for one more. Cleared regardless, one start in thirty waited for the poll (0.5 s).
    """

    _again = False

    def set(self) -> None:
        self._again = True
        super().set()

    def clear(self) -> None:
        again, self._again = self._again, False
        if not again:
            super().clear()


class PatientWorker(Worker):
    """Fetches again after the database was away. Its heartbeat is the watchdog's thread."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._new_job_event = Wakeups()

    async def _persist_job_status(self, *args: Any, **kwargs: Any) -> None:
        """A job that is over has let go of its lock: the thread's next one was waiting for that."""
        await super()._persist_job_status(*args, **kwargs)
        self._new_job_event.set()

    async def _fetch_and_process_jobs(self) -> None:
        try:
            await super()._fetch_and_process_jobs()  # type: ignore[no-untyped-call]
        except ConnectorException as error:
            log.warning("worker.fetching_again", error=repr(error))
            await asyncio.sleep(PAUSE)

    async def _periodic_deferrer(self) -> None:
        """Whatever was due while the database was away is deferred once; it keeps count."""
        while True:
            try:
                await super()._periodic_deferrer()  # type: ignore[no-untyped-call]
                return
            except ConnectorException as error:
                log.warning("worker.deferring_again", error=repr(error))
                await asyncio.sleep(PAUSE)

    async def _update_heartbeat(self) -> None:
        await asyncio.Event().wait()
