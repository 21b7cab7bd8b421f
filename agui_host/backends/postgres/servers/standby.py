"""Connections to a read replica: a standby, of which nothing is learnt and which is never awaited.

A process learns timelines, the epoch and the time from its primary only.
"""

from contextlib import suppress
from typing import Any, Self

import psycopg
from django.conf import settings
from django.db import connections
from psycopg.errors import _WaitTimeout
from psycopg.rows import tuple_row

from agui_host.backends.postgres.base import OWN_OPTIONS, DatabaseWrapper
from agui_host.backends.postgres.deadlines import INTERVAL, Connection
from agui_host.backends.postgres.servers import hosts

POOL_SECONDS = 1.0
"""For a connection to be there; then the primary is read."""
ANSWER = 5.0
"""Seconds for each answer. PostgreSQL itself stops a statement after ``STATEMENT``."""
STATEMENT = "-c statement_timeout=4s"


class Silent(psycopg.OperationalError):
    """The standby did not answer in time."""


class StandbyConnection(Connection):
    """A connection to the first host that is a standby; of the last one its user has to ask."""

    is_standby = True

    @classmethod
    def connect(cls, conninfo: str = "", **kwargs: Any) -> Self:
        """As psycopg's, without changing this process's knowledge of primaries."""
        parameters = hosts.merged(conninfo, kwargs)
        *others, last = hosts.places(parameters)
        for place in others:
            with suppress(psycopg.OperationalError):
                raw = cls._greeted(conninfo, **{**kwargs, **place})
                if raw.is_standby:
                    hosts.connected(parameters, place)
                    return raw
                raw.close()
        raw = cls._greeted(conninfo, **{**kwargs, **last})
        hosts.connected(parameters, last)
        return raw

    def _meet(self) -> None:
        self._ask()
        with psycopg.Cursor(self, row_factory=tuple_row) as cursor:
            row = cursor.execute("select pg_is_in_recovery()").fetchone()
        self.is_standby = bool(row and row[0])

    def wait(self, gen: Any, interval: float = INTERVAL, timeout: float | None = None) -> Any:
        """Wait for the server for a few seconds. Raises OperationalError after them."""
        seconds = ANSWER if timeout is None else timeout
        try:
            return psycopg.Connection.wait(self, gen, interval, seconds)
        except _WaitTimeout:
            if timeout is not None:
                raise
            self.pgconn.finish()
            raise Silent(f"the standby did not answer within {seconds:g} s") from None


class StandbyWrapper(DatabaseWrapper):
    """Django's connection under the alias of the primary, with its own pools."""

    learns = False
    _connection_pools: dict[str, Any] = {}

    def get_connection_params(self) -> dict[str, Any]:
        """The replica's address, also in a process whose sessions are not a pooler's."""
        return self._params(self.settings_dict)


def wrapper() -> StandbyWrapper:
    """A connection of this thread to ``DATABASE_REPLICA_URL``; it is opened when it is used."""
    replica, ours = settings.AGUI_DATABASE_REPLICA, connections.settings["default"]
    options = {name: ours["OPTIONS"][name] for name in OWN_OPTIONS if name in ours["OPTIONS"]}
    options = {**replica["OPTIONS"], **options}
    options["options"] = f"{options['options']} {STATEMENT}"
    if isinstance(pool := options.get("pool"), dict):
        options["pool"] = {
            **pool,
            "connection_class": StandbyConnection,
            "min_size": 0,
            "timeout": POOL_SECONDS,
            "reconnect_timeout": 2 * POOL_SECONDS,
        }
    return StandbyWrapper({**ours, **replica, "OPTIONS": options}, "default")
