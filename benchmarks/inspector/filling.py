"""A million rows in minutes: without indexes and triggers, which come back at the end.

A script fills the data directory that ``AGUI_DATA_DIR`` names, once; whoever names it again finds
the rows there, so that one query can be measured, changed and measured again.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

INDEXES = """
select indexrelid::regclass::text, pg_get_indexdef(indexrelid)
  from pg_index
 where indrelid = any (%s::regclass[])
   and not exists (select from pg_constraint where conindid = indexrelid)
"""


@contextmanager
def in_bulk(cursor: Any, tables: Sequence[str]) -> Iterator[None]:
    """Rows enter these tables as quickly as they can; foreign keys and triggers do not look."""
    cursor.execute(INDEXES, [list(tables)])
    indexes = cursor.fetchall()
    for name, _ in indexes:
        cursor.execute(f"drop index {name}")
    cursor.execute("set session_replication_role = replica")
    yield
    cursor.execute("set session_replication_role = origin")
    cursor.execute("set maintenance_work_mem = '512MB'")
    for _, definition in indexes:
        cursor.execute(definition)
    cursor.execute("reset maintenance_work_mem")
    cursor.execute(f"vacuum analyze {', '.join(tables)}")
