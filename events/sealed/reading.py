"""The events of a log, from its rows or from its object: the one place where readers get them.

For a sealed log ``agui_events`` returns one row with the number 0, whatever rows are still to be
deleted: it looks in the same snapshot, so no reader sees half of a log.
"""

from collections.abc import Collection, Iterator, Mapping
from uuid import UUID

from django.db import connection

from events.sealed import blocks

Row = tuple[int, str, str]
"""``seq``, type and payload."""
SEALED = 0
"""The number of the row that represents a sealed log."""
# The window bounds a step by bytes. Both ends of the range are given, since numbers have no gaps:
# with a limit instead, a planner without statistics of a fresh run sorts everything after the
# cursor for each page (100,000 events: 5 s against 0.2 s).
READ = """
select seq, type, payload from (
    select seq, type, payload,
           sum(octet_length(payload)) over (order by seq) - octet_length(payload) as before
      from agui_events(%s, %s, %s, %s)
) step where before < %s order by seq
"""

# Of several short logs, each in its order.
READ_SHORT = """
select log.id, event.seq, event.type, event.payload
  from unnest(%s::uuid[], %s::int[]) log (id, head)
  cross join lateral agui_events(log.id, 0, log.head, %s) event
 order by log.id, event.seq
"""


def rows(
    journal_id: UUID, after: int, upto: int, most_bytes: int, types: Collection[str] | None = None
) -> list[Row]:
    """The events behind ``after``, up to ``upto`` or so many bytes, at least one if there are any.

    Only those of ``types``, if given.
    """
    with connection.cursor() as cursor:
        names = None if types is None else list(types)
        cursor.execute(READ, [journal_id, after, upto, names, most_bytes])
        stored = cursor.fetchall()
    return instead(stored, journal_id, after, upto, most_bytes, types)


def short_logs(heads: Mapping[UUID, int], types: Collection[str]) -> dict[UUID, list[Row]]:
    """The events of ``types`` of several logs by one statement; of none that is sealed.

    The caller has looked that all of them together are short.
    """
    logs: dict[UUID, list[Row]] = {journal_id: [] for journal_id in heads}
    if heads:
        with connection.cursor() as cursor:
            cursor.execute(READ_SHORT, [list(heads), list(heads.values()), list(types)])
            for journal_id, *row in cursor.fetchall():
                logs[journal_id].append((row[0], row[1], row[2]))
    return {key: stored for key, stored in logs.items() if not is_sealed(stored)}


def instead(
    stored: list[Row],
    journal_id: UUID,
    after: int,
    upto: int,
    most_bytes: int,
    types: Collection[str] | None = None,
    limit: int | None = None,
) -> list[Row]:
    """``stored``, which ``agui_events`` returned for these values, or the sealed rows."""
    if not is_sealed(stored):
        return stored
    whole = sealed_rows(journal_id, after, upto, most_bytes, types, limit)
    return [(seq, type_, payload.decode()) for seq, type_, payload in whole]


def sealed_rows(
    journal_id: UUID,
    after: int,
    upto: int,
    most_bytes: int,
    types: Collection[str] | None = None,
    limit: int | None = None,
) -> list[tuple[int, str, bytes]]:
    """``sealed``, up to so many bytes."""
    events, size = list[tuple[int, str, bytes]](), 0
    for row in sealed(journal_id, after, upto, types):
        events.append(row)
        size += len(row[2])
        if size >= most_bytes or len(events) == limit:
            break
    return events


def is_sealed(stored: list[Row]) -> bool:
    """Whether these rows represent a sealed log."""
    return bool(stored) and stored[0][0] == SEALED


def sealed(
    journal_id: UUID, after: int, upto: int, types: Collection[str] | None = None
) -> Iterator[tuple[int, str, bytes]]:
    """The events of a sealed log. Raises LogUnavailable and LogMissing."""
    for section in blocks.sections(journal_id, after, upto):
        skip = max(0, after + 1 - section.first)
        pairs = zip(section.types[skip:], section.payloads[skip:], strict=True)
        for seq, (type_, payload) in enumerate(pairs, section.first + skip):
            if seq > upto:
                return
            if types is None or type_ in types:
                yield seq, type_, payload
