"""The epoch of the database's history, asked with each new connection: cursors name it.

It changes when a standby is promoted, and when somebody restores a backup and says so. Events that
readers know may be lost then, and others may have their numbers.
"""

from typing import Any

import psycopg
from django.db import connection, transaction

from backends.postgres.long_waits import NOT_FOR_A_STANDBY
from protocol.errors import HostError

FIRST = 1
READ = """
do $$ begin
    perform agui_epoch();
exception when undefined_function or insufficient_privilege then
    null;  -- not migrated yet
end $$;
select current_setting('agui.epoch', true)
"""
ENSURE_FIRST = """
select agui_epoch();
insert into events_epoch values (1, null, clock_timestamp()) on conflict do nothing
"""
BEGIN = "select agui_begin_epoch((select timeline from events_epoch order by number desc limit 1))"
# Open sessions have the number before.
END_OTHERS = f"""
select pg_terminate_backend(pid) from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
   and pg_has_role(usesysid, 'member') and {NOT_FOR_A_STANDBY}
"""  # noqa: S608

latest = FIRST


class Reset(HostError):
    """The database lost the newest events that you have: start again from the log as it is now."""

    code = "reset"
    status = 410
    close = 4411

    @classmethod
    def to(cls, head: int) -> "Reset":
        """``head`` is the newest ``seq`` of the log as it is now."""
        return cls(details={"epoch": latest, "head": head})


def read(raw: "psycopg.Connection[Any]") -> int:
    """Ask by this connection, outside of Django's cursors."""
    global latest
    with psycopg.Cursor(raw) as cursor:
        cursor.execute(READ)
        cursor.nextset()
        row = cursor.fetchone()
    latest = int(row[0]) if row and row[0] else FIRST
    return latest


def begin() -> int:
    """Begin an epoch, and close the other sessions; its number. Only for the tables' owner."""
    with connection.cursor() as cursor:
        with transaction.atomic():
            cursor.execute(ENSURE_FIRST)
            cursor.execute(BEGIN)
        cursor.execute(END_OTHERS)
        return read(connection.connection)


def at(seq: int, base: int, marks: list[int] | None) -> int:
    """The epoch in which a journal's event was written, by its ``epoch`` and ``marks``."""
    epoch = base
    for first, number in zip((marks or [])[::2], (marks or [])[1::2], strict=True):
        if first <= seq:
            epoch = number
    return epoch
