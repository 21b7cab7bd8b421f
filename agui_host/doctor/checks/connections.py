"""The connections that PostgreSQL allows, and how many are taken."""

from django.db import connection

from agui_host.doctor.findings import Fault, check

MOST = 0.9
"""The part that can be taken; a rollout needs as many again for a while."""
TAKEN = """
select current_setting('max_connections')::int
         - current_setting('superuser_reserved_connections')::int,
       (select count(*) from pg_stat_activity where backend_type = 'client backend')
"""


@check("connections", needs="database")
def connections() -> str | list[Fault]:
    """Whether further processes can still connect."""
    with connection.cursor() as cursor:
        cursor.execute(TAKEN)
        allowed, taken = cursor.fetchone()
    if taken <= MOST * allowed:
        return f"{taken} of {allowed}"
    return [
        Fault(
            f"{taken} of {allowed} connections of PostgreSQL are taken.",
            "Raise max_connections, or put PgBouncer in front of web"
            " (docs/operations.md#connections-to-postgresql).",
        )
    ]
