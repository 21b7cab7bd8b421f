"""Procrastinate's worker, made to outlive a restart of Postgres.

As it comes, a failed LISTEN or fetch stops the worker, and with it every run it executes:
a restart of the database would end runs that lost nothing.
"""

import asyncio
from collections.abc import Iterable

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


class PatientWorker(Worker):
    """Fetches again after the database was away. Its heartbeat is the watchdog's thread."""

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
