"""A state of the database that many tests begin with: made once, then put back.

Making Alice's house takes a hundred transactions. Its rows are read once, and copied into the empty
tables before each further test; what tests have counted in Valkey goes. All tests of a process have
the same ids, so work that outlives a test can still write about a run that is back: what it wrote
since the test goes, under the lock under which the rows come.
"""

import copy
import functools
from typing import Generic, TypeVar

from django.core.cache import cache
from django.db import connection, transaction

from tests import emptying

T = TypeVar("T")
OF_A_CAST = frozenset({'"auth_user"', '"teams_team"'})
"""Tables that only a cast fills; a test with a second one fails."""
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
        """Write it into a database without a cast; None if nothing has been kept."""
        if not self._tables:
            return None
        cache.clear()
        emptying.patiently(self._write)
        return copy.deepcopy(self._value)

    def _write(self) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(emptying.statements(OF_A_CAST))
            for name, rows in self._tables.items():
                into = f"copy {name} ({_columns(name)}) from stdin"
                with connection.connection.cursor().copy(into) as written:
                    written.write(rows)


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
