"""A connection pooler between the host and PostgreSQL, and the options that it drops."""

from collections.abc import Iterator
from contextlib import contextmanager

from procrastinate.contrib.django.utils import connector_params

from agui_host.backends.postgres import reach, roles
from agui_host.backends.postgres.deadlines import Connection
from agui_host.backends.postgres.servers import pooler
from agui_host.doctor.findings import Fault, check, of_line

COMPILES = """
select current_setting('jit')::bool and pg_jit_available(), session_user
"""
"""Without the library of LLVM the setting has no effect."""


@check("pooler", needs="database")
def sessions() -> str | list[Fault]:
    """Whether workers have their own sessions, and web processes share none with a taken role."""
    faults = []
    for shares in (False, True):
        with _process(shares):
            try:
                pooler.check()
            except pooler.Shared as error:
                faults.append(of_line(str(error)))
    return faults or "sessions last"


@check("jit", needs="database")
def jit() -> str | list[Fault]:
    """Whether PostgreSQL compiles statements first: a pooler can drop the host's ``jit=off``."""
    faults = {}
    for shares in (False, True):
        with _process(shares), Connection.connect(**connector_params(), autocommit=True) as raw:
            compiles, user = raw.execute(COMPILES).fetchone() or (False, "")
        if compiles:
            faults[user] = Fault(
                f"PostgreSQL compiles long statements of {user} at {reach.setting()}: jit is"
                " on, so a search can take many times as long.",
                f'alter role "{user}" set jit = off (docs/howto-postgresql.md#pgbouncer)',
            )
    return list(faults.values()) or "off"


@contextmanager
def _process(shares: bool) -> Iterator[None]:
    """Connect as a web process, which can share sessions, or as a worker."""
    before, roles.process.shares = roles.process.shares, shares
    try:
        yield
    finally:
        roles.process.shares = before
