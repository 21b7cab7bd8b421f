"""A connection pooler between the host and PostgreSQL that gives each transaction any session.

PgBouncer does so with ``pool_mode = transaction``. What belongs to a session is lost there, or
meets another client: LISTEN, locks, a role that was taken. Requests do without; workers cannot.
"""

from typing import Any

import psycopg
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from procrastinate.contrib.django.utils import connector_params

from agui_host.backends.postgres import reach, roles
from agui_host.backends.postgres.deadlines import Connection

TRIES = 5
"""Looks at two sessions: on a busy pooler others can get a returned session."""
BACKEND = "select pg_backend_pid()"
LOGIN = """
select current_user, exists (select from pg_roles where rolname = %s)
"""


class Shared(ImproperlyConfigured):
    """The pooler cannot be used like this: the process must not start."""


def check() -> None:
    """Raises Shared, with a line for the log, if this process cannot work with such a pooler."""
    parameters = connector_params()
    if not shares_sessions(parameters):
        return
    at = f"{reach.setting()}: at {reach.place(parameters)} a pooler gives each transaction any"
    if not roles.process.shares:
        raise Shared(
            f"{at} session, and this process needs its own: set DATABASE_DIRECT_URL to the address"
            " of PostgreSQL itself."
        )
    if not settings.AGUI_DATABASE_ROLES:
        return
    with Connection.connect(**parameters, autocommit=True) as raw:
        role = roles.name(raw.info.dbname, roles.APPLICATION)
        user, is_there = raw.execute(LOGIN, [role]).fetchone() or ("", False)
    if is_there and user != role:
        raise Shared(
            f"{at} session, and a role taken there would stay for others: log in as {role}"
            " (AGUI_DATABASE_APP_PASSWORD)."
        )


def shares_sessions(parameters: dict[str, Any]) -> bool:
    """Whether two connections were given the same session, or one of them two."""
    with Connection.connect(**parameters, autocommit=True) as one:
        if not one.is_pooled:
            return False
        try:
            with Connection.connect(**parameters, autocommit=True) as other:
                return any(_meet(one, other) for _ in range(TRIES))
        except psycopg.OperationalError:
            return False  # the only session is taken, so it is not given to others


def _meet(one: Connection, other: Connection) -> bool:
    first = _backend(one)
    with other.transaction():
        # While the second connection has a session, the first one gets a different one.
        return _backend(other) == first or _backend(one) != first


def _backend(raw: Connection) -> int:
    row = raw.execute(BACKEND).fetchone()
    assert row is not None  # noqa: S101  for mypy
    return int(row[0])
