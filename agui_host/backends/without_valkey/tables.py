"""The two unlogged tables, through one session of the process outside of all transactions.

A refused request is rolled back, but its attempt must stay counted. After a crash of PostgreSQL the
tables are empty, as Valkey would be.
"""

import threading
from typing import Any

import psycopg

from agui_host.backends.postgres.deadlines import Connection
from agui_host.backends.without_valkey.line import connect

NAME = "agui-counters"


class Session:
    """One connection for all threads, which take turns."""

    def __init__(self) -> None:
        self._connection: Connection | None = None
        self._lock = threading.Lock()

    def rows(self, statements: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of the last of the statements, which are one message and one transaction.

        Raises ConnectionError if PostgreSQL does not answer, also not on a new connection.
        """
        with self._lock:
            try:
                return self._ask(statements, values)
            except psycopg.OperationalError:
                self._drop()
            try:
                return self._ask(statements, values)
            except psycopg.OperationalError as error:
                self._drop()
                raise ConnectionError("PostgreSQL counts nothing") from error

    def _ask(self, statements: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        if self._connection is None:
            self._connection = connect(NAME)
        with psycopg.ClientCursor(self._connection) as cursor:
            cursor.execute(statements, values)
            while cursor.nextset():
                pass
            return cursor.fetchall() if cursor.description else []

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


session = Session()
