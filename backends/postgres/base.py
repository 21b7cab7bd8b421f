"""Django's PostgreSQL engine with deadlines, and with connections of a thread's own."""

from types import SimpleNamespace
from typing import Any

import psycopg
import structlog
from django.conf import settings
from django.db import connection, connections
from django.db.backends.postgresql import base
from django.db.backends.postgresql.psycopg_any import register_tzloader
from django.db.backends.postgresql.schema import DatabaseSchemaEditor
from procrastinate.contrib.django.utils import connector_params
from psycopg.pq import Format

from backends.postgres import clock, cursors, deadlines, roles
from backends.postgres.long_waits import NOT_FOR_A_STANDBY
from backends.postgres.reach import direct_parameters

log = structlog.get_logger(__name__)

TRANSACTION_TIMEOUT_SINCE = 170_000
PREDECESSOR = f"""
select pg_terminate_backend(pid) from pg_stat_activity
 where pid = %s and application_name = %s and usename = session_user and {NOT_FOR_A_STANDBY}
"""  # noqa: S608


class SchemaEditor(DatabaseSchemaEditor):
    """Migrations take as long as they need."""

    def __enter__(self) -> "SchemaEditor":
        self._unlimited = deadlines.allowing(None)
        self._unlimited.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *args: Any) -> None:
        try:
            super().__exit__(*args)
        finally:
            self._unlimited.__exit__(*args)


class DatabaseWrapper(base.DatabaseWrapper):
    """Connections that never wait for an answer for ever; see ``deadlines``."""

    Database: Any = SimpleNamespace(**{**vars(psycopg), "connect": deadlines.Connection.connect})
    SchemaEditorClass = SchemaEditor
    deadline: float | None = None
    transaction_seconds: int | None = None
    lock_timeout: str | None = None
    part: str = roles.APPLICATION
    _backend: int | None = None

    def get_connection_params(self) -> dict[str, Any]:
        """The parameters of Django, with our cursors and the login of this process's role."""
        params: dict[str, Any] = super().get_connection_params()
        params["cursor_factory"] = cursors.ScopedCursor
        return params | roles.credentials(params.get("dbname", ""))

    def _configure_connection(self, connection: Any) -> bool:
        commit = bool(super()._configure_connection(connection))  # type: ignore[misc]
        roles.take(connection, self.part)
        return commit

    def create_cursor(self, name: str | None = None) -> Any:
        """A cursor that sends the current team's scope along with each statement."""
        if name is None:
            return super().create_cursor()
        cursor = cursors.ScopedServerCursor(
            self.connection, name=name, scrollable=False, withhold=self.connection.autocommit
        )
        loader = self.connection.adapters.get_loader(base.TIMESTAMPTZ_OID, Format.TEXT)
        if self.timezone != loader.timezone:
            register_tzloader(self.timezone, cursor)
        return cursor

    def init_connection_state(self) -> None:
        """Give a new connection its deadline and the bound of its transactions."""
        super().init_connection_state()
        if self.deadline is not None:
            self.connection.deadline = self.deadline
        if self.transaction_seconds is not None:
            self._bound_transactions(self.transaction_seconds)
        if self.lock_timeout is not None:
            self.connection.execute(f"set lock_timeout = '{self.lock_timeout}'")
        if clock.is_stale():
            clock.read(self.connection)
        if not self.pool:
            self._bury_predecessor()

    def _bound_transactions(self, seconds: int) -> None:
        """PostgreSQL 15 and 16 cannot limit a whole transaction, only each part of it."""
        names = ["transaction_timeout"]
        if self.connection.info.server_version < TRANSACTION_TIMEOUT_SINCE:
            names = ["statement_timeout", "idle_in_transaction_session_timeout"]
        for name in names:
            self.connection.execute(f"set {name} = '{seconds}s'")

    def _bury_predecessor(self) -> None:
        # End the session of this thread's last connection. The server may not know that it is gone,
        # and would keep its locks, in the middle of a COPY for ever.
        name = self.settings_dict["OPTIONS"].get("application_name")
        if self._backend is not None and name:
            bury = roles.as_login(self.connection, PREDECESSOR)
            self.connection.execute(bury, [self._backend, name])
        self._backend = self.connection.info.backend_pid


def own_connection(
    name: str,
    *,
    deadline: float | None = None,
    transaction_seconds: int | None = None,
    lock_timeout: str | None = None,
    part: str = roles.APPLICATION,
) -> None:
    """Give this thread a connection outside the pool, which others may have emptied.

    ``name`` is its application_name, ``part`` which of the roles it takes. A second call does
    nothing.
    """
    values = connection.settings_dict
    if values["OPTIONS"].get("application_name") == name:
        return
    options = {key: value for key, value in values["OPTIONS"].items() if key != "pool"}
    own = DatabaseWrapper({**values, "OPTIONS": {**options, "application_name": name}}, "default")
    own.deadline, own.transaction_seconds = deadline, transaction_seconds
    own.lock_timeout, own.part = lock_timeout, part
    connections["default"] = own


def serve() -> None:
    """From here on this process uses the database as the application, not as its owner."""
    roles.process.serves = settings.AGUI_DATABASE_ROLES
    roles.process.logs_in = roles.has_login()
    if not roles.process.logs_in:
        return
    try:
        psycopg.connect(**connector_params()).close()
    except psycopg.OperationalError as error:
        # Not migrated yet, or away: then it takes the role when it is connected.
        roles.process.logs_in = False
        log.warning("database.no_application_login", reason=" ".join(str(error).split()))


def queue_parameters() -> dict[str, Any]:
    """Keyword arguments of Procrastinate's pool: the same address, the same TLS, deadlines."""
    return {
        "kwargs": direct_parameters(),
        "connection_class": deadlines.AsyncConnection,
        "configure": _without_transactions,
    }


async def _without_transactions(connection: psycopg.AsyncConnection[Any]) -> None:
    """Each statement of the queue is a transaction of its own: none needs a BEGIN and a COMMIT."""
    await connection.set_autocommit(True)
