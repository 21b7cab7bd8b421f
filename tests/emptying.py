"""Empties the tables behind a test that commits: DELETE, under the locks that TRUNCATE would take.

Django's flush truncates all tables and makes content types and permissions anew. To truncate the
116 that there are takes 200 to 400 ms. Rows of a test's own are few: deleting them takes 8 ms.
Whoever still writes is waited for, as by TRUNCATE. Now and then the real flush takes the dead rows
away. Tables that Django does not manage are emptied as well, which its flush leaves: a job of one
test would be late in another, and a worker there would count as one of the previous release.
"""

import functools
from collections.abc import Callable
from itertools import count
from typing import Any

from django.db import OperationalError, connection, transaction
from django.test import TransactionTestCase
from psycopg.errors import DeadlockDetected

KEPT = frozenset({"django_content_type", "auth_permission"})
"""What migrations make, and no test changes."""
UNMANAGED = (
    "procrastinate_events", "procrastinate_periodic_defers", "procrastinate_jobs",
    "procrastinate_workers", "agui_seat", "agui_counter",
)  # fmt: skip
"""Those that refer to others come first."""
FLUSH_EVERY = 300
TRIES = 3
_flush = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]
_turns = count(1)


def install() -> None:
    """Let tests that commit clean up that way."""
    TransactionTestCase._fixture_teardown = _teardown  # type: ignore[attr-defined]


def _teardown(case: Any) -> None:
    patiently(lambda: _empty(case))


def patiently(act: Callable[[], None]) -> None:
    """Once more after a deadlock: a stream of a test may still read."""
    for left in reversed(range(TRIES)):
        try:
            act()
            return
        except OperationalError as error:
            if not left or not isinstance(error.__cause__, DeadlockDetected):
                raise


def _empty(case: Any) -> None:
    if next(_turns) % FLUSH_EVERY == 0 or not may():
        _flush(case)
        with connection.cursor() as cursor:
            cursor.execute("; ".join(f"delete from {table}" for table in UNMANAGED))  # noqa: S608
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statements())


@functools.cache
def may() -> bool:
    """Triggers and foreign keys are set aside by superusers only: those of the embedded engine."""
    with connection.cursor() as cursor:
        cursor.execute("select rolsuper from pg_roles where rolname = current_user")
        return bool(cursor.fetchone()[0])


@functools.cache
def tables() -> list[str]:
    """The quoted names of the tables that tests fill."""
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return [connection.ops.quote_name(name) for name in sorted(set(names) - KEPT)] + [*UNMANAGED]


@functools.cache
def statements(spared: frozenset[str] = frozenset()) -> str:
    """Lock all tables and empty them, except those with these names."""
    return "; ".join(
        [
            f"lock table {', '.join(tables())} in access exclusive mode",
            "set local session_replication_role = replica",
            *(f"delete from {name}" for name in tables() if name not in spared),  # noqa: S608
        ]
    )
