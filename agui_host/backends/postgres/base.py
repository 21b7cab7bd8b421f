"""Django's PostgreSQL engine with deadlines, and with connections of a thread's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import structlog
from django.conf import settings
from django.db import connection, connections
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base
from django.db.backends.postgresql.psycopg_any import register_tzloader
from django.db.backends.postgresql.schema import DatabaseSchemaEditor
from procrastinate.contrib.django.utils import connector_params
from psycopg.adapt import AdaptersMap
from psycopg.pq import Format
from psycopg.types.array import ListDumper
from psycopg.types.datetime import TimestamptzLoader

from agui_host.backends import epochs
from agui_host.backends.postgres import clock, cursors, deadlines, roles
from agui_host.backends.postgres.long_waits import NOT_FOR_A_STANDBY
from agui_host.backends.postgres.servers.pools import QuickAsyncPool, QuickPool

log = structlog.get_logger(__name__)

TRANSACTION_TIMEOUT_SINCE = 170_000
OWN_OPTIONS = ("pool", "application_name")
"""Options that the host sets by itself, whatever the address."""
PREDECESSOR = f"""
select pg_terminate_backend(pid) from pg_stat_activity
 where pid = %s and application_name = %s and usename = session_user and {NOT_FOR_A_STANDBY}
"""  # noqa: S608


class MomentLoader(TimestamptzLoader):
    """Reads moments in a fifth of the time of Django's loader: a list of runs has hundreds."""

    timezone = UTC  # of the sessions; Django asks for it

    def load(self, data: Any) -> datetime:
        """The moment. Raises psycopg's DataError for one that Python cannot represent."""
        try:
            return datetime.fromisoformat(str(data, "ascii"))
        except ValueError:
            return super().load(data)


class TextsDumper(ListDumper):
    """Writes an array of texts by two calls of C for each text.

    psycopg calls Python for each quote and backslash, which kept the interpreter for seconds and
    took hundreds of megabytes for a text of nine.
    """

    def dump(self, obj: list[Any]) -> Any:
        """The array; all its elements are quoted, as PostgreSQL also reads them."""
        if self.sub_dumper is None or not all(type(item) is str for item in obj):
            return super().dump(obj)
        texts = [
            bytes(self.sub_dumper.dump(item) or b"").replace(b"\\", b"\\\\").replace(b'"', b'\\"')
            for item in obj
        ]
        return b'{"%b"}' % b'","'.join(texts) if texts else b"{}"


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
    learns = True  # the epoch and the time, from this server
    _backend: int | None = None
    _connection_pools: dict[str, Any]  # Django's

    def get_connection_params(self) -> dict[str, Any]:
        """The parameters of Django, with our cursors and the login of this process's role."""
        return self._params(self.settings_dict if roles.process.shares else self._direct())

    def session_params(self) -> dict[str, Any]:
        """The same for a session that lasts, also in a process that can share a pooler's."""
        return self._params(self._direct())

    def _params(self, address: dict[str, Any]) -> dict[str, Any]:
        shared, self.settings_dict = self.settings_dict, dict(address)
        try:
            params: dict[str, Any] = super().get_connection_params()
        finally:
            self.settings_dict = shared
        params["cursor_factory"] = cursors.ScopedCursor
        params["context"] = _adapters(params["context"])
        return params | roles.credentials(params.get("dbname", ""))

    def _direct(self) -> dict[str, Any]:
        """Django's settings, with DATABASE_DIRECT_URL in them."""
        direct = settings.AGUI_DATABASE_DIRECT
        if not direct:
            return self.settings_dict
        options = self.settings_dict["OPTIONS"]
        ours = {name: options[name] for name in OWN_OPTIONS if name in options}
        return {**self.settings_dict, **direct, "OPTIONS": {**direct["OPTIONS"], **ours}}

    @property
    def pool(self) -> QuickPool | None:
        """Django's pool of this alias, as a pool that tries again soon."""
        options = self.settings_dict["OPTIONS"].get("pool")
        if self.alias == NO_DB_ALIAS or not options:
            return None
        if self.alias not in self._connection_pools:
            pool = QuickPool(
                kwargs=self.get_connection_params() | {"autocommit": True},
                open=False,  # Django opens it
                configure=self._configure_connection,  # type: ignore[arg-type]
                check=QuickPool.check_connection,
                **options,
            )
            self._connection_pools.setdefault(self.alias, pool)
        made: QuickPool = self._connection_pools[self.alias]
        return made

    def _configure_connection(self, connection: Any) -> bool:
        commit = bool(super()._configure_connection(connection))  # type: ignore[misc]
        if self.learns:
            epochs.read(connection)
        roles.take(connection, self.part)
        return commit

    def chunked_cursor(self) -> Any:
        """A cursor that fetches piece by piece, if all pieces come from the same session.

        Behind a pooler a cursor that outlives its transaction would stay on another client's
        session.
        """
        self.ensure_connection()
        if self.connection.is_pooled and self.get_autocommit():
            return self.cursor()
        return super().chunked_cursor()

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
        if self.learns and clock.is_stale():
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
        # End the session of this thread's last connection. The server might not notice that it is
        # gone, and would keep its locks, in the middle of a COPY for ever.
        name = self.settings_dict["OPTIONS"].get("application_name")
        if self._backend is not None and name:
            bury = roles.as_login(self.connection, PREDECESSOR)
            self.connection.execute(bury, [self._backend, name])
        self._backend = self.connection.info.backend_pid


@cache
def _adapters(those_of_django: AdaptersMap) -> AdaptersMap:
    ours = AdaptersMap(those_of_django)
    ours.register_loader("timestamptz", MomentLoader)
    ours.register_dumper(list, TextsDumper)
    return ours


def own_connection(
    name: str,
    *,
    deadline: float | None = None,
    transaction_seconds: int | None = None,
    lock_timeout: str | None = None,
    part: str = roles.APPLICATION,
) -> None:
    """Give this thread a connection outside the pool, which others can have emptied.

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


def serve(*, shares: bool = False) -> None:
    """From here on this process uses the database as the application, not as its owner.

    ``shares``: whether its connections can be a pooler's.
    """
    roles.process.shares = shares
    roles.process.serves = settings.AGUI_DATABASE_ROLES
    roles.process.logs_in = roles.has_login()
    if not roles.process.logs_in:
        return
    try:
        deadlines.Connection.connect(**connector_params()).close()
    except psycopg.OperationalError as error:
        # Not migrated yet, or away: then it takes the role when it is connected.
        roles.process.logs_in = False
        log.warning("database.no_application_login", reason=" ".join(str(error).split()))


@contextmanager
def apart() -> Iterator[psycopg.Connection[Any]]:
    """Another connection for this block, in a transaction, while this thread uses its own one."""
    connection.ensure_connection()
    pool = getattr(connection, "pool", None)
    opened = (
        pool.connection()
        if pool
        else deadlines.Connection.connect(**connector_params(), autocommit=True)
    )
    with opened as other, other.transaction():
        yield other


def session_parameters() -> dict[str, Any]:
    """psycopg's parameters of a session that lasts: at PostgreSQL itself, never at a pooler."""
    params = cast("DatabaseWrapper", connections["default"]).session_params()
    return {name: params[name] for name in params.keys() - {"cursor_factory", "context"}}


def queue_parameters() -> dict[str, Any]:
    """Keyword arguments of Procrastinate's pool: the same address, the same TLS, deadlines."""
    return {
        "kwargs": connector_params(),
        "connection_class": deadlines.AsyncConnection,
        "pool_factory": QuickAsyncPool,
        "configure": _without_transactions,
    }


async def _without_transactions(connection: psycopg.AsyncConnection[Any]) -> None:
    """Each statement of the queue is its own transaction: none needs a BEGIN and a COMMIT."""
    await connection.set_autocommit(True)
