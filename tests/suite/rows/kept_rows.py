"""A state of the database that many tests begin with: made once, then put back.

Making Alice's house takes a hundred transactions. Its rows are read once, and copied into the empty
tables before each further test; what tests have counted in Valkey goes.
"""

import copy
import functools
from typing import Generic, TypeVar

from django.core.cache import cache
from django.db import connection, transaction

from tests import emptying

T = TypeVar("T")
COLUMNS = """
select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
 where attrelid = %s::regclass and attnum > 0 and not attisdropped and attgenerated = ''
"""


class KeptRows(Generic[T]):
    """The rows of all tables, and the objects by which tests know them."""

    def __init__(self) -> None:
        self._tables: dict[str, bytes] = {}

    def keep(self, value: T) -> T:
        """Read what ``value`` has put into the database."""
        if emptying.may():
            self._value = copy.deepcopy(value)
            self._tables = {name: rows for name in emptying.tables() if (rows := _read(name))}
        return value

    def put_back(self) -> T | None:
        """Write it into a database that is empty; None if nothing has been kept."""
        if not self._tables:
            return None
        cache.clear()
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("set local session_replication_role = replica")
            for name, rows in self._tables.items():
                into = f"copy {name} ({_columns(name)}) from stdin"
                with connection.connection.cursor().copy(into) as written:
                    written.write(rows)
        return copy.deepcopy(self._value)


def _read(table: str) -> bytes:
    with transaction.atomic():
        connection.ensure_connection()
        out = f"copy (select {_columns(table)} from {table}) to stdout"  # noqa: S608
        with connection.connection.cursor().copy(out) as read:
            return b"".join(bytes(piece) for piece in read)


@functools.cache
def _columns(table: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS, [table])
        return str(cursor.fetchone()[0])
