"""Connections that give up on a server that does not answer.

A failover without resets, or a proxy that swallows packets, leaves a connection that looks alive
for ever. The kernel's timers only notice unacknowledged packets, and the server's only its own
work; so the client also measures. A connection that missed its deadline is closed, and its user
gets an OperationalError, as after a restart.
"""

import asyncio
import select
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Self

import psycopg
import structlog
from django.conf import settings
from psycopg import waiting
from psycopg.errors import (
    Diagnostic,
    FeatureNotSupported,
    InsufficientPrivilege,
    ReadOnlySqlTransaction,
    UndefinedFunction,
    _WaitTimeout,
)
from psycopg.pq import ConnStatus, TransactionStatus
from psycopg.rows import tuple_row
from psycopg_pool import ConnectionPool

from agui_host.backends.postgres import long_waits
from agui_host.backends.postgres.long_waits import NotWorking, watched
from agui_host.backends.postgres.servers import hosts, primary
from agui_host.backends.postgres.servers.primary import Server

log = structlog.get_logger(__name__)

PING = 3.0
QUEUE = 5.0
GREETING = 5.0
"""Seconds in which a new connection must have told which server it leads to."""
LOOK = "2"
"""The connect_timeout of a question to a host that is not the first choice."""
HIDDEN = (FeatureNotSupported, InsufficientPrivilege, UndefinedFunction)
LONGEST = 600.0  # for nightly work and management commands
FRESH = 2.0
"""Seconds after an answer in which a pool takes a silent connection to be alive."""
INTERVAL = 0.1  # seconds between two checks for a Ctrl-C, as in psycopg
WAIT_FOR_STANDBY = "SyncRepWaitForLSN"
"""The server's function that warns of a commit whose wait for the standby was cancelled."""
_UNSET = -1.0
_allowed: ContextVar[float | None] = ContextVar("deadline", default=_UNSET)


@contextmanager
def allowing(seconds: float | None) -> Iterator[None]:
    """Let each statement of this block take this many seconds; None: no limit."""
    token = _allowed.set(seconds)
    try:
        yield
    finally:
        _allowed.reset(token)


def current() -> float | None:
    """The seconds a statement has here: ``AGUI_DATABASE_DEADLINE``, unless a block overrides it."""
    seconds = _allowed.get()
    return settings.AGUI_DATABASE_DEADLINE or None if seconds == _UNSET else seconds


class Demoted(psycopg.OperationalError):
    """The server is read-only now: after a failover that left its sessions alive."""


class Noticing:
    """What both kinds of connections remember: their server, and commits that were cut short."""

    server: Server | None = None  # the connected server; ``primary``
    is_unreplicated = False  # whether a commit stopped waiting for its standby
    answered_at = 0.0

    def _notice(self, notice: Diagnostic) -> None:
        # Its words depend on the server's language, and its code is too general.
        if notice.source_function == WAIT_FOR_STANDBY:
            self.is_unreplicated = True

    def _broke(self) -> None:
        # There might be a new primary now.
        if self.pgconn.status == ConnStatus.BAD:  # type: ignore[attr-defined]
            primary.suspect()

    @property
    def is_pooled(self) -> bool:
        """Whether a connection pooler is in between, which numbers sessions by itself."""
        return self.server is not None and (
            self.server.backend != self.info.backend_pid  # type: ignore[attr-defined]
        )


class Connection(Noticing, psycopg.Connection[Any]):
    """A connection with a deadline for each answer: its own, or the one of ``current``."""

    deadline: float | None = None
    drained_at = 0.0
    role: str | None = None  # its current role, if not that of its login (``roles``)
    restricted = False  # whether the policies ask it for its scope
    asks = False  # whether it only asks the server about another connection

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.opened_at = time.monotonic()
        self.add_notice_handler(self._notice)

    @classmethod
    def connect(cls, conninfo: str = "", **kwargs: Any) -> Self:
        """As psycopg's, at the first host that is a primary of the newest timeline."""
        parameters = hosts.merged(conninfo, kwargs)
        look_around(parameters)
        errors: list[psycopg.OperationalError] = []
        for place in hosts.places(parameters):
            try:
                raw = cls._greeted(conninfo, **{**kwargs, **place})
            except psycopg.OperationalError as error:
                primary.suspect()
                errors.append(error)
            else:
                hosts.connected(parameters, place)
                return raw
        raise _all_of(errors)

    @classmethod
    def _greeted(cls, conninfo: str = "", autocommit: bool = False, **kwargs: Any) -> Self:
        raw = super().connect(conninfo, autocommit=True, **kwargs)
        raw.deadline = GREETING
        try:
            raw._meet()
        except BaseException:
            raw.close()
            raise
        raw.deadline = None
        raw.autocommit = autocommit
        return raw

    def _meet(self) -> None:
        primary.note(self._ask(), primary.name_of(self))

    def _ask(self) -> Server:
        with psycopg.Cursor(self, row_factory=tuple_row) as cursor:
            try:
                row = cursor.execute(primary.query()).fetchone()
            except HIDDEN as error:
                primary.hidden(error)
                row = cursor.execute(primary.query()).fetchone()
        assert row is not None  # noqa: S101  for mypy
        self.server = Server(*row)
        return self.server

    def wait(self, gen: Any, interval: float = INTERVAL, timeout: float | None = None) -> Any:
        """Wait for the server until the deadline. Raises OperationalError after it."""
        if primary.is_outdated(self.server):
            raise _outdated(self)
        seconds = self.deadline or current()
        began = time.monotonic()
        if timeout is None and self.deadline is None and _allowed.get() != _UNSET:
            gen = watched(gen, self)
        try:
            answer = super().wait(gen, interval, seconds if timeout is None else timeout)
            self.answered_at = time.monotonic()
            if self.is_unreplicated:
                self._renew_pool()
                raise _unreplicated(self)
            return answer
        except ReadOnlySqlTransaction as error:
            self._renew_pool()
            raise _demoted(self) from error
        except NotWorking:
            self._renew_pool()
            raise _given_up(self, round(time.monotonic() - began, 1)) from None
        except _WaitTimeout:
            if timeout is not None or seconds is None:
                raise
            # If only this statement is slow, the server should stop working on it.
            if not self.asks:  # or two would ask about each other for ever
                long_waits.stop(self, seconds)
            self._renew_pool()
            raise _given_up(self, seconds) from None
        except psycopg.OperationalError:
            self._broke()
            raise

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        """Run a query; a pool's empty one is skipped while the connection is surely alive."""
        if query != "":
            return super().execute(query, *args, **kwargs)
        # A pool checks this way whether a connection is alive.
        if _surely_alive(self):
            return None
        try:
            with allowing(PING):
                return super().execute(query, *args, **kwargs)
        except psycopg.OperationalError:
            self._renew_pool()
            raise

    def _renew_pool(self) -> None:
        # Discard all older connections, since one is dead: a request would try each in turn.
        pool = getattr(self, "_pool", None)
        if isinstance(pool, ConnectionPool) and self.opened_at >= Connection.drained_at:
            Connection.drained_at = time.monotonic()
            pool.drain()


class AsyncConnection(Noticing, psycopg.AsyncConnection[Any]):
    """The same for the job queue, whose statements are short."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.add_notice_handler(self._notice)

    @classmethod
    async def connect(cls, conninfo: str = "", **kwargs: Any) -> Self:
        """As psycopg's, at the first host that is a primary of the newest timeline."""
        parameters = hosts.merged(conninfo, kwargs)
        await asyncio.to_thread(look_around, parameters)
        errors: list[psycopg.OperationalError] = []
        for place in hosts.places(parameters):
            try:
                raw = await cls._greeted(conninfo, **{**kwargs, **place})
            except psycopg.OperationalError as error:
                primary.suspect()
                errors.append(error)
            else:
                hosts.connected(parameters, place)
                return raw
        raise _all_of(errors)

    @classmethod
    async def _greeted(cls, conninfo: str = "", autocommit: bool = False, **kwargs: Any) -> Self:
        raw = await super().connect(conninfo, autocommit=True, **kwargs)
        try:
            primary.note(await raw._ask(), primary.name_of(raw))
        except BaseException:
            await raw.close()
            raise
        await raw.set_autocommit(autocommit)
        return raw

    async def _ask(self) -> Server:
        async with psycopg.AsyncCursor(self, row_factory=tuple_row) as cursor:
            try:
                row = await (await cursor.execute(primary.query())).fetchone()
            except HIDDEN as error:
                primary.hidden(error)
                row = await (await cursor.execute(primary.query())).fetchone()
        assert row is not None  # noqa: S101  for mypy
        self.server = Server(*row)
        return self.server

    async def wait(self, gen: Any, interval: float = INTERVAL, timeout: float | None = None) -> Any:
        """Wait for the server for as long as a queue can take. Raises OperationalError after it."""
        if primary.is_outdated(self.server):
            raise _outdated(self)
        try:
            seconds = QUEUE if timeout is None else timeout
            answer = await waiting.wait_async(gen, self.pgconn.socket, interval, seconds)
            self.answered_at = time.monotonic()
            if self.is_unreplicated:
                raise _unreplicated(self)
            return answer
        except ReadOnlySqlTransaction as error:
            raise _demoted(self) from error
        except _WaitTimeout:
            if timeout is not None:
                raise
            raise _given_up(self, QUEUE) from None
        except psycopg.OperationalError:
            self._broke()
            raise
        except asyncio.CancelledError:
            # psycopg would ask the server to cancel, and wait for its answer indefinitely.
            if self.pgconn.transaction_status == TransactionStatus.ACTIVE:
                self.pgconn.finish()
            raise

    async def notifies(
        self, *, timeout: float | None = None, stop_after: int | None = None
    ) -> AsyncGenerator[psycopg.Notify]:
        """As psycopg's; a server that has nothing to notify counts as alive."""
        seconds = LONGEST if timeout is None else timeout
        async with aclosing(super().notifies(timeout=seconds, stop_after=stop_after)) as notices:
            async for notice in notices:
                yield notice

    async def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        """Run a query; a pool's empty one is skipped while the connection is surely alive."""
        if query == "" and _surely_alive(self):
            return None
        return await super().execute(query, *args, **kwargs)


def _surely_alive(connection: Connection | AsyncConnection) -> bool:
    """Whether a connection has just answered, and its server has not said anything since.

    A server that ends a session sends a notice, and closes it: then there is something to read. A
    ping costs each checkout a round trip, and a short run makes ten of them.
    """
    if time.monotonic() - connection.answered_at > FRESH or connection.closed:
        return False
    socket = select.poll()
    socket.register(connection.pgconn.socket, select.POLLIN)
    return not socket.poll(0)


def _given_up(connection: Connection | AsyncConnection, seconds: float) -> psycopg.OperationalError:
    # Close the connection without a word to the server; returns the error to raise.
    connection.pgconn.finish()
    log.warning("database.silent", seconds=seconds)
    return psycopg.OperationalError(f"PostgreSQL did not answer within {seconds:g} s")


def look_around(parameters: dict[str, Any]) -> None:
    """Ask each of several hosts for its timeline, if it is time: a failover was possibly missed.

    So a process that begins now does not take an old primary for the only one. Returns when all
    were asked, also if another thread asks: a connection that went ahead would commit at a server
    that is outdated a moment later.
    """
    places = hosts.places(parameters)
    if len(places) == 1:
        return
    with primary.looking_around() as is_time:
        for place in places if is_time else ():
            with suppress(psycopg.Error):
                Connection._greeted(**{**parameters, **place, "connect_timeout": LOOK}).close()


def _all_of(errors: list[psycopg.OperationalError]) -> psycopg.OperationalError:
    """The last error, with the words of all."""
    if len(errors) == 1:
        return errors[0].with_traceback(None)
    text = "; ".join(" ".join(str(error).split()) for error in errors)
    return type(errors[-1])(text)


def _outdated(connection: Connection | AsyncConnection) -> primary.Outdated:
    # Whatever it was asked to do: its server is no longer the primary.
    connection.pgconn.finish()
    return primary.Outdated("PostgreSQL has a newer primary than the one of this connection")


def _unreplicated(connection: Connection | AsyncConnection) -> psycopg.OperationalError:
    # The wait of a commit was cancelled, which is not safe: the standby might lack it.
    connection.pgconn.finish()
    log.warning("database.unreplicated")
    return psycopg.OperationalError("A commit has not waited for its standby")


def _demoted(connection: Connection | AsyncConnection) -> Demoted:
    # Close the connection, so that the next one finds the new primary; the error to raise.
    connection.pgconn.finish()
    log.warning("database.read_only")
    return Demoted("PostgreSQL is read-only now: another server may have become the primary")
