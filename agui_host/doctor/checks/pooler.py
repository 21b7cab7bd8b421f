"""A connection pooler between the host and PostgreSQL."""

from agui_host.backends.postgres import roles
from agui_host.backends.postgres.servers import pooler
from agui_host.doctor.findings import Fault, check, of_line


@check("pooler", needs="database")
def sessions() -> str | list[Fault]:
    """Whether workers have their own sessions, and web processes share none with a taken role."""
    faults = []
    for shares in (False, True):
        before, roles.process.shares = roles.process.shares, shares
        try:
            pooler.check()
        except pooler.Shared as error:
            faults.append(of_line(str(error)))
        finally:
            roles.process.shares = before
    return faults or "sessions last"
