"""Monthly partitions of the events table, by the time inside a journal's UUIDv7.

A month whose rows already sit in DEFAULT cannot be created any more, so months are made ahead
and a row in DEFAULT is an alert.
"""

from datetime import UTC, date, datetime
from uuid import UUID

from django.db import connection

AHEAD = 12


def ensure_ahead(today: date | None = None, months: int = AHEAD) -> list[str]:
    """Create this month's partition and the next ``months``; the names of the new ones."""
    today = today or datetime.now(UTC).date()
    made = []
    with connection.cursor() as cursor:
        for offset in range(months + 1):
            name = f"events_event_{_month(today, offset):%Y_%m}"
            cursor.execute("select to_regclass(%s)", [name])
            if cursor.fetchone() == (None,):
                low, high = (first_id(_month(today, offset + step)) for step in (0, 1))
                cursor.execute(
                    f"create table if not exists {name} partition of events_event"
                    f" for values from ('{low}') to ('{high}')"
                )
                made.append(name)
    return made


def stray_rows() -> bool:
    """Whether DEFAULT holds a row, which it never should."""
    with connection.cursor() as cursor:
        cursor.execute("select exists (select 1 from events_event_default)")
        return bool(cursor.fetchone()[0])


def first_id(month: date) -> UUID:
    """The lowest UUID a journal made in ``month`` (UTC) or later can have."""
    start = datetime(month.year, month.month, 1, tzinfo=UTC)
    return UUID(int=int(start.timestamp() * 1000) << 80)


def _month(today: date, offset: int) -> date:
    years, month = divmod(today.month - 1 + offset, 12)
    return date(today.year + years, month + 1, 1)
