"""PostgreSQL: reachable, new enough, no standby, and with free connections."""

from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from agui_host.backends.postgres.reach import reach
from agui_host.doctor.findings import Fault, check, of_line

STANDBYS = """
select current_setting('synchronous_standby_names'), (select count(*) from pg_stat_replication)
"""
MOST = 0.9
"""The part that can be taken; a rollout needs as many again for a while."""
TAKEN = """
select current_setting('max_connections')::int
         - current_setting('superuser_reserved_connections')::int,
       (select count(*) from pg_stat_activity
         where datid is not null and usesysid is not null
           and coalesce(backend_type, 'client backend') = 'client backend')
"""
"""The application's role is not shown the kind of other roles' sessions."""
SLOTS = "select slot_name from pg_replication_slots where not active order by 1"


@check("database")
def database() -> str | list[Fault]:
    """Whether PostgreSQL answers, is at least 15, and accepts writes."""
    try:
        place = reach()
    except ImproperlyConfigured as error:
        return [of_line(str(error))]
    with connection.cursor() as cursor:
        cursor.execute(
            "select pg_is_in_recovery(), current_setting('default_transaction_read_only')"
        )
        is_standby, read_only = cursor.fetchone()
    if is_standby:
        return [
            Fault(
                f"PostgreSQL {place} is a standby, which accepts no writes.",
                "Name the primary, or all servers with target_session_attrs=read-write.",
            )
        ]
    if read_only == "on":
        return [
            Fault(
                f"PostgreSQL {place} accepts no writes: default_transaction_read_only is on.",
                "Set it to off for this database and this user.",
            )
        ]
    return f"PostgreSQL {place}"


@check("replication", needs="database")
def replication() -> str | list[Fault]:
    """Whether commits wait for a standby that is away, or a slot keeps the log for nobody."""
    with connection.cursor() as cursor:
        cursor.execute(STANDBYS)
        names, standbys = cursor.fetchone()
        cursor.execute(SLOTS)
        idle = [name for (name,) in cursor.fetchall()]
    faults = []
    if names and not standbys:
        faults.append(
            Fault(
                f"Commits wait for a synchronous standby ({names}), and none is connected.",
                "Start the standby, or empty synchronous_standby_names"
                " (docs/howto-postgresql.md#synchronous-standbys).",
            )
        )
    faults += [
        Fault(
            f"The replication slot {name} has no reader, so the log that it keeps fills the disk.",
            f"Start its standby, or select pg_drop_replication_slot('{name}').",
        )
        for name in idle
    ]
    return faults or (f"{standbys} standbys" if standbys else "no standby")


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
