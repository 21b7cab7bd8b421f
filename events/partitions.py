"""Monthly partitions of the events table, by the time inside a journal's UUIDv7.

A month's partition cannot be created once DEFAULT holds its rows. So months are created ahead, and
a row in DEFAULT is an alert.
"""

from datetime import UTC, date, datetime
from typing import NamedTuple
from uuid import UUID

from django.db import OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

from agui_host.backends.postgres import clock
from agui_host.protocol.ids import uuid7_floor

AHEAD = 12
PREFIX = "events_event_"
DROP_LOCK_TIMEOUT = "200ms"
MONTHS = """
select relname from pg_class join pg_inherits on inhrelid = oid
 where inhparent = 'events_event'::regclass and relname ~ '^events_event_[0-9]{4}_[0-9]{2}$'
 order by relname
"""


class Month(NamedTuple):
    """A partition, and the ids of its journals: from ``low`` to below ``high``."""

    name: str
    low: UUID
    high: UUID


def ensure_ahead(today: date | None = None, months: int = AHEAD) -> list[str]:
    """Create this month's partition and the next ``months``; the names of the new ones."""
    today = today or clock.now().date()
    made = []
    with connection.cursor() as cursor:
        for offset in range(months + 1):
            name = f"{PREFIX}{month_after(today, offset):%Y_%m}"
            cursor.execute("select to_regclass(%s)", [name])
            if cursor.fetchone() == (None,):
                low, high = (first_id(month_after(today, offset + step)) for step in (0, 1))
                cursor.execute("select agui_make_month(%s, %s, %s)", [name, low, high])
                made.append(name)
    return made


def ahead(today: date | None = None) -> int:
    """How many months have a partition, from this one on without a gap."""
    today = today or clock.now().date()
    with connection.cursor() as cursor:
        cursor.execute(MONTHS)
        names = {name for (name,) in cursor.fetchall()}
    months = 0
    while f"{PREFIX}{month_after(today, months):%Y_%m}" in names:
        months += 1
    return months


def past(today: date | None = None) -> list[Month]:
    """The months that are over, oldest first: no new journal can belong to them."""
    today = today or clock.now().date()
    with connection.cursor() as cursor:
        cursor.execute(MONTHS)
        names = [name for (name,) in cursor.fetchall()]
    months = []
    for name in names:
        start = datetime.strptime(name, f"{PREFIX}%Y_%m").replace(tzinfo=UTC).date()
        if (end := month_after(start, 1)) < today:  # a day later, because clocks differ
            months.append(Month(name, first_id(start), first_id(end)))
    return months


def drop(month: Month) -> bool:
    """Drop a month with all its rows; False if the table was too busy, so try later.

    DETACH CONCURRENTLY is refused if there is a DEFAULT partition, and the plain form needs an
    exclusive lock on the table. Appends wait while it waits, so it waits only briefly. The files
    are deleted after the locks are released.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"set local lock_timeout = '{DROP_LOCK_TIMEOUT}'")
            cursor.execute("select agui_drop_month(%s)", [month.name])
            return True
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        return False


def stray_rows() -> bool:
    """Whether DEFAULT contains a row, which it never should."""
    with connection.cursor() as cursor:
        cursor.execute("select agui_stray_events()")
        return bool(cursor.fetchone()[0])


def first_id(month: date) -> UUID:
    """The lowest UUID that a journal made in ``month`` (UTC) or later can have."""
    start = datetime(month.year, month.month, 1, tzinfo=UTC)
    return uuid7_floor(start.timestamp())


def month_after(today: date, offset: int) -> date:
    """The first day of the month so many months later."""
    years, month = divmod(today.month - 1 + offset, 12)
    return date(today.year + years, month + 1, 1)
