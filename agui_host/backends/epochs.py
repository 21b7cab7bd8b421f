"""The epoch of the database's history, asked with each new connection: cursors name it.

It changes when a standby is promoted, and when an operator restores a backup and reports it. Events
that readers know can be lost then, and others can have their numbers.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import psycopg
from django.db import connection, transaction

from agui_host.backends.postgres.long_waits import NOT_FOR_A_STANDBY
from agui_host.protocol.errors import HostError
from agui_host.protocol.ids import ANY_EPOCH, FIRST_EPOCH, Position, epoch_of

FIRST = FIRST_EPOCH
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


def learn(number: int | None) -> int:
    """Note the epoch that a commit has named; returns it."""
    global latest
    latest = max(latest, number or FIRST)
    return number or FIRST


def has_ended(cursor: int) -> bool:
    """Whether the epoch of a reader's newest event is over, so that its whole log can be lost.

    A log of the newest epoch that is not there was deleted.
    """
    return bool(cursor) and (epoch_of(cursor) or FIRST) not in (ANY_EPOCH, latest)


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


class Written(NamedTuple):
    """In which epochs the events of a log were written: its ``epoch`` and ``marks``."""

    epoch: int = FIRST
    marks: list[int] | None = None

    def at(self, seq: int) -> Position:
        """The place of an event."""
        epoch = self.epoch
        for first, number in self._marks():
            if first <= seq:
                epoch = number
        return Position(seq, epoch)

    def last_with(self, seq: int, head: int) -> float:
        """The last event that is certainly of the same epoch as ``seq``.

        ``head``: the log's newest event when this was read; a mark can have come since.
        """
        if marks := [first - 1 for first, _ in self._marks() if first > seq]:
            return marks[0]
        return self.known_to(head)

    def known_to(self, head: int) -> float:
        """The last event whose epoch is known here, if it was read when ``head`` was."""
        return float("inf") if self.at(head).epoch == latest else head

    def has(self, cursor: int) -> bool:
        """Whether this event is the same as the event that the reader with this cursor saw.

        A plain number is of the epoch in which the log began.
        """
        epoch = epoch_of(cursor) or self.epoch
        return cursor == 0 or epoch in (ANY_EPOCH, self.at(cursor).epoch)

    def _marks(self) -> Iterator[tuple[int, int]]:
        marks = self.marks or []
        return zip(marks[::2], marks[1::2], strict=True)
