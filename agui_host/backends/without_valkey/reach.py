"""The proof at the start that notifications arrive: behind a pooler LISTEN fails in silence."""

import secrets

import psycopg
from django.core.exceptions import ImproperlyConfigured

from agui_host.backends.postgres.servers.pooler import Shared
from agui_host.backends.without_valkey.line import connect

NAME = "agui-bell-probe"
SECONDS = 2.0
REFUSED = (
    "DATABASE_DIRECT_URL: without Valkey (REDIS_URL is empty) the host needs LISTEN, and a"
    " notification did not arrive at the address in use, as behind PgBouncer in transaction mode;"
    " write the address of PostgreSQL itself, or set REDIS_URL."
)
UNREACHABLE = (
    "DATABASE_DIRECT_URL: PostgreSQL cannot be used at the address for LISTEN ({reason});"
    " write the address of PostgreSQL itself, or set REDIS_URL."
)


def reach() -> None:
    """Raises Shared if a notification does not come through, so that no process starts.

    Raises ImproperlyConfigured if PostgreSQL is away: a web process then waits for it.
    """
    channel = f"agui_probe_{secrets.token_hex(8)}"
    try:
        with connect(NAME) as here, connect(NAME) as there:
            here.execute(f"listen {channel}")
            there.execute("select pg_notify(%s, '')", [channel])
            arrived = list(here.notifies(timeout=SECONDS, stop_after=1))
    except psycopg.Error as error:
        reason = type(error).__name__
        raise ImproperlyConfigured(UNREACHABLE.format(reason=reason)) from None
    if not arrived:
        raise Shared(REFUSED)
