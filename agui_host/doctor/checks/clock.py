"""This machine's clock."""

from django.db import connection

from agui_host.backends.postgres import clock as database_clock
from agui_host.doctor.findings import Fault, check


@check("clock", needs="database")
def clock() -> str | list[Fault]:
    """Whether it agrees with the database's, by which the host tells time."""
    connection.ensure_connection()
    database_clock.read(connection.connection)
    if (ahead := database_clock.ahead()) is None:
        return "agrees with the database's"
    direction = "ahead of" if ahead > 0 else "behind"
    return [
        Fault(
            f"This machine's clock is {abs(ahead)} s {direction} the database's.",
            "Synchronise both by NTP (docs/operations.md#clocks).",
        )
    ]
