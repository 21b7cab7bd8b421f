"""Requests and runs in the process of the tests use the database as those of a host do.

Tests look around, fill and empty tables as the owner. What runs inside a request's or a run's
scope is the application's: each statement takes its role along, so that a query which a policy
hides from a host is hidden here, too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from psycopg.pq import TransactionStatus

from agui_host.backends.postgres import cursors, roles, scope

_part: ContextVar[str] = ContextVar("_part", default=roles.APPLICATION)


def install() -> None:
    """Before anything connects."""
    for name in ("take", "appending"):
        setattr(roles, name, globals()[f"_{name}"])
    cursors._prefix = _prefix  # type: ignore[assignment]


_prefix_of_hosts = cursors._prefix
_take_of_hosts = roles.take


def _take(raw: Any, part: str) -> None:
    _take_of_hosts(raw, part)
    raw.restricted = raw.restricted or not raw.role
    raw.as_application = not raw.role


@contextmanager
def _appending() -> Iterator[None]:
    token = _part.set(roles.WRITER)
    try:
        yield
    finally:
        _part.reset(token)


def _prefix(connection: Any) -> str:
    prefix = _prefix_of_hosts(connection)
    if not prefix or not getattr(connection, "as_application", False):
        return prefix
    if not scope.is_limited() and connection.pgconn.transaction_status == TransactionStatus.IDLE:
        return ""  # the next statement may be one that no transaction takes
    role = f'"{roles.name(connection.info.dbname, _part.get())}"' if scope.is_limited() else "none"
    return f"set local role {role};{prefix}"
