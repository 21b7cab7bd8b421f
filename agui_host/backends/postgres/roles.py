"""The roles in which web and worker use the database: neither owns a table (ADR 0004).

``<database>_app`` sees only rows that the policies allow, ``<database>_writer`` appends to
journals. Commands keep the role of DATABASE_URL, which owns everything. Both are made by
``agui_host.teams.row_security``.
"""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import structlog
from django.conf import settings
from django.db import connection

from agui_host.backends.postgres import scope
from agui_host.backends.postgres.address import LIBPQ
from agui_host.logs import sparingly

log = structlog.get_logger(__name__)

APPLICATION, WRITER = "app", "writer"
LONGEST_NAME = 63
SEE = "docs/operations.md#roles"
BECOME = """
select set_config('agui.teams', %s, false), (
    select set_config('role', rolname, false) from pg_roles
     where rolname = %s and pg_has_role(session_user, oid, %s))
"""
# Since 16 the maker of a role is its member, but cannot take it without an explicit grant.
SETTABLE_SINCE = 160_000


class Process:
    """The kind of this process: it ``serves`` requests or executes runs, or it is a command.

    ``logs_in``: it can connect as the application's role from the start, so that there
    is no other role to go back to. ``shares``: its connections can lead to a pooler, which
    gives each transaction another session: a web process's. Others need their own sessions.
    """

    serves = False
    logs_in = False
    shares = False


process = Process()


def name(database: str, part: str) -> str:
    """A role's name: those of two hosts on one server must differ."""
    return f"{database[: LONGEST_NAME - len(part) - 1]}_{part}"


def has_login() -> bool:
    """Whether ``migrate`` lets the application's role log in: the embedded PostgreSQL asks for no
    password, for any other one there is a setting."""
    return bool(settings.AGUI_EMBEDDED["postgres"] or settings.AGUI_DATABASE_APP_PASSWORD)


def can_be_left(*, here: bool) -> bool:
    """Whether web and worker log in as another user and only take their role: SQL can undo it.

    ``here``: this process is one of them, so that without a user in the address
    PostgreSQL takes the account that it runs as.
    """
    if not settings.AGUI_DATABASE_ROLES or has_login():
        return False
    address = settings.DATABASES["default"]
    user = address["USER"] or LIBPQ.get("PGUSER", "")
    if here and not user:
        with suppress(KeyError):
            user = pwd.getpwuid(os.geteuid()).pw_name
    database = address["NAME"] or LIBPQ.get("PGDATABASE", user)
    return bool(user) and user != name(database, APPLICATION)


def credentials(database: str) -> dict[str, str]:
    """Whom to connect as instead of the user of DATABASE_URL."""
    if not (process.serves and process.logs_in):
        return {}
    password = settings.AGUI_DATABASE_APP_PASSWORD
    own = {"password": password} if password else {}
    return {"user": name(database, APPLICATION), **own}


def take(raw: Any, part: str) -> None:
    """Give a new connection its role, and reach no team but with a statement that names it.

    Where there is no such role it keeps its own, and logs it: row-level security is off.
    """
    own_role = name(raw.info.dbname, part) if process.serves else ""
    raw.restricted = False
    if raw.is_pooled and own_role and part == APPLICATION and _is_already(raw, own_role):
        return
    row = raw.execute(BECOME, ["" if own_role else scope.ALL, own_role, membership(raw)]).fetchone()
    raw.role = row[1]
    raw.restricted = row[1] is not None and part == APPLICATION
    if own_role and raw.role is None:
        raw.execute(BECOME, [scope.ALL, "", membership(raw)])
        sparingly(log.warning, "database.row_security_off", missing=own_role, see=SEE)
    if not raw.autocommit:
        raw.commit()


def _is_already(raw: Any, own_role: str) -> bool:
    """Whether a pooler's sessions have the role by their login: then nothing is set on them.

    A setting of a session stays there for the pooler's other clients.
    """
    (user,) = raw.execute("select current_user").fetchone()
    if user != own_role:
        return False
    raw.role, raw.restricted = user, True
    if not raw.autocommit:
        raw.commit()
    return True


def membership(raw: Any) -> str:
    """The kind of membership with which a role can be taken, for ``pg_has_role``."""
    return "set" if raw.info.server_version >= SETTABLE_SINCE else "member"


@contextmanager
def appending() -> Iterator[None]:
    """Append to journals in this block of a transaction, whatever the connection's own role."""
    connection.ensure_connection()
    raw = connection.connection
    if not raw.restricted:
        yield
        return
    _switch(name(raw.info.dbname, WRITER))
    yield
    _switch(raw.role)  # after an error the rollback does it


def as_writer(raw: Any, statement: str) -> str:
    """The statement with the right to append to journals (``appending``), in one message."""
    if not raw.restricted or raw.role is None:
        return statement
    writer = _quoted(name(raw.info.dbname, WRITER))
    return f"set local role {writer}; {statement}; set local role {_quoted(raw.role)}"


def as_login(raw: Any, statement: str) -> str:
    """The statement with the rights of the login, if it returns no rows.

    PostgreSQL shows and ends sessions by their login, whatever role they took.
    """
    if raw.role is None:
        return statement
    return f"set local role none; {statement}; set local role {_quoted(raw.role)}"


def _switch(role: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"set local role {_quoted(role)}")


def _quoted(role: str) -> str:
    return '"' + role.replace('"', '""') + '"'
