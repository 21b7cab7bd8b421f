"""Cursors that tell PostgreSQL whose rows a statement can touch, in the statement's own message.

``set local`` in front of it lasts for the transaction at most: outside of one, for this statement.
A connection that goes back to its pool has nothing left of it, also with a connection pooler.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.db.backends.postgresql import base
from psycopg import sql
from psycopg.pq import TransactionStatus

from agui_host.backends import metrics
from agui_host.backends.postgres import scope

if TYPE_CHECKING:  # the stubs know Django's cursors for psycopg 2
    from psycopg import ClientCursor, ServerCursor

    Cursor = ClientCursor[Any]
    ServerSideCursor = ServerCursor[Any]
else:
    Cursor, ServerSideCursor = base.Cursor, base.ServerSideCursor


class ScopedCursor(Cursor):
    """Django's cursor. One round trip per statement, as without it."""

    def execute(self, query: Any, params: Any = None, **kwargs: Any) -> Any:
        """Run a statement in the current team's scope, which goes in front of it in one message."""
        prefix = _prefix(self.connection) if query != "" else ""
        metrics.count_statement()
        if not prefix:
            return super().execute(query, params, **kwargs)
        super().execute(_prefixed(prefix, query), params, **kwargs)
        for _ in range(prefix.count(";")):
            self.nextset()
        return self

    def executemany(self, query: Any, params_seq: Iterable[Any], **kwargs: Any) -> None:
        """Run a statement once for each of ``params_seq``, each in the current team's scope."""
        # psycopg sends these in a pipeline, which takes one statement per message.
        if _prefix(self.connection):
            for params in params_seq:
                self.execute(query, params)
        else:
            super().executemany(query, params_seq, **kwargs)


class ScopedServerCursor(ServerSideCursor):
    """Django's cursor for ``iterator()``; the server evaluates the scope when it declares it."""

    def _execute_send(self, query: Any, **kwargs: Any) -> None:
        prefix = _prefix(self.connection)
        if prefix:
            self.connection.pgconn.send_query(prefix.encode() + query.query)
        else:
            super()._execute_send(query, **kwargs)


def _prefix(connection: Any) -> str:
    """Empty where no policy asks, and in a failed transaction, which takes only its rollback."""
    if not connection.restricted:
        return ""
    if connection.pgconn.transaction_status == TransactionStatus.INERROR:
        return ""
    return f"set local agui.teams = '{scope.current()}';"


def _prefixed(prefix: str, query: Any) -> Any:
    if isinstance(query, bytes):
        return prefix.encode() + query
    return prefix + query if isinstance(query, str) else sql.SQL(prefix) + query
