"""A state of the database that many tests begin with: made once, then put back.

Making Alice's house takes a hundred transactions. Its rows are read once, and one message inserts
them before each further test; what tests have counted in Valkey goes. All tests of a process have
the same ids, so work that outlives a test can still write about a run that is back: what it wrote
since the test goes, under the lock under which the rows come.
"""

import copy
from typing import Generic, TypeVar

from django.core.cache import cache
from django.db import connection, transaction
from psycopg.sql import Literal

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
        self._statements = ""

    def keep(self, value: T) -> T:
        """Read what ``value`` has put into the database."""
        if emptying.may():
            self._value = copy.deepcopy(value)
            rows = [text for name in emptying.tables() if (text := _inserting(name))]
            self._statements = "; ".join([emptying.statements(OF_A_CAST), *rows])
        return value

    def put_back(self) -> T | None:
        """Write it into a database without a cast; None if nothing has been kept."""
        if not self._statements:
            return None
        cache.clear()
        emptying.patiently(self._write)
        return copy.deepcopy(self._value)

    def _write(self) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(self._statements)


def _inserting(table: str) -> str:
    """The statement that makes the rows of a table anew; empty if it has none."""
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS, [table])
        (columns,) = cursor.fetchone()
        cursor.execute(f"select json_agg(t)::text from (select {columns} from {table}) t")  # noqa: S608
        (rows,) = cursor.fetchone()
    # Copying them took a message for each table.
    source = f"json_populate_recordset(null::{table}, {Literal(rows).as_string()})"
    into = f"insert into {table} ({columns}) overriding system value"
    return f"{into} select {columns} from {source}" if rows else ""  # noqa: S608
