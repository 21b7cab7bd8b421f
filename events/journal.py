"""All the SQL of a journal: create, take over, append, read, inside the caller's transaction.

The writer, the reaper and a cancel of a queued run append through the same two statements: the
*fence* (advance the heads of those journals whose generation is still ours) and the *COPY* of the
rows whose fence succeeded. The row lock of the fence makes commit order equal ``seq`` order, so a
reader never sees 5 before 4.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from psycopg.errors import LockNotAvailable

from agui_host.backends import epochs
from agui_host.backends.epochs import Reset, Written
from agui_host.backends.event_rows import event_rows
from agui_host.backends.postgres import clock, roles, scope
from agui_host.backends.postgres.long_waits import NOT_FOR_A_STANDBY
from agui_host.protocol.encoding import Record
from agui_host.protocol.errors import HostError
from agui_host.protocol.ids import Position, epoch_of
from agui_host.protocol.schema import TERMINAL
from events.models import Journal
from events.sealed import reading

T = TypeVar("T")

WRITER_APPLICATION = "agui-writer"
PAGE_ROWS = 500
PAGE_BYTES = 128 * 1024
STRETCH_EVENTS = 1000
SEARCHED = 50_000
"""Events that one request searches for those of some types."""
COPY_ROWS = 1000
"""Events of one append, for a log that is there already."""
FENCE_VALUES = """
%(ids)s::uuid[], %(generations)s::int4[], %(firsts)s::int4[], %(lasts)s::int4[], %(sizes)s::int8[],
%(finals)s::bool[]
"""
FENCE = f"select agui_fence({FENCE_VALUES})"
EPOCH = "current_setting('agui.epoch', true)::int8"
"""In a row of a takeover: the trigger has set it."""
COPY = "copy events_event (journal_id, seq, at, type, payload) from stdin (format binary)"
# As ``reading.READ``, which also bounds a page by bytes: fifty stalled readers of 2.3 KB rows took
# the web process from 62 to 341 MB with pages of 500 rows, and to 101 MB with 128 KB. Here it is
# one row with one text, since a stream needs no row as a value: that takes half of the time. No
# JSON contains the character between two events.
STRETCH = """
select min(seq), bool_or(type = any(%s)), string_agg(payload, chr(30) order by seq) from (
    select seq, type, payload,
           sum(octet_length(payload)) over (order by seq) - octet_length(payload) as before
      from agui_events(%s, %s, %s)
) page where before < %s
"""
# In the transaction that has just claimed the journal, so its row is locked: no fence.
BEGIN = """
with begun as (
    update events_journal set head = head + %(begin_number)s, bytes = bytes + %(begin_bytes)s
     where id = %(begin_journal)s and closed_at is null
    returning id, head - %(begin_number)s as before)
insert into events_event (journal_id, seq, at, type, payload)
select begun.id, begun.before + fresh.number, to_timestamp(fresh.at), fresh.type, fresh.payload
  from begun, unnest(%(begin_at)s::float8[], %(begin_type)s::text[], %(begin_payload)s::text[])
              with ordinality as fresh(at, type, payload, number)
"""
OF_TYPES_AFTER = """
select seq, type, payload from (
    select seq, type, payload,
           sum(octet_length(payload)) over (order by seq) - octet_length(payload) as before
      from (select * from agui_events(%s, %s, %s, %s) order by seq limit %s) matches
) page where before < %s order by seq
"""
OF_TYPES = "select seq, payload from agui_events(%s, 0, %s, %s)"
STATE = "select head, closed_at is not null, epoch, marks from events_journal where id = %s"
HEADS = "select id, head, epoch, marks from events_journal where id = any(%s)"
# The message makes this transaction wait for its synchronous standby, as any that has written: the
# lost commit may not have waited to its end.
CONFIRM = """
select j.id, pg_logical_emit_message(true, 'agui', '') from events_journal j
  join unnest(%s::uuid[], %s::int4[], %s::int4[]) as v(id, generation, last)
    on j.id = v.id and j.writer = v.generation and j.head = v.last
"""
TAKE_OVER = f"""
set local lock_timeout = '1s';
update events_journal set writer = writer + 1
 where id = %s and closed_at is null returning writer, head, {EPOCH};
set local lock_timeout to default
"""  # noqa: S608
# While a transaction is updating a row, the row's xmax is that transaction.
TERMINATE_WRITER = f"""
select pg_terminate_backend(a.pid)
  from events_journal j join pg_stat_activity a on a.backend_xid::text = j.xmax::text
 where j.id = %s and a.application_name = %s and {NOT_FOR_A_STANDBY}
"""  # noqa: S608

_TERMINAL = sorted(TERMINAL)


class Purged(HostError):
    """These events were purged; the log begins later, or no longer exists."""

    code = "purged"
    status = 410
    close = 4410

    @classmethod
    def below(cls, lowest: int) -> "Purged":
        """``lowest`` is the first ``seq`` that still exists."""
        return cls(details={"lowest": lowest})


class Claim(NamedTuple):
    """The right to append to a journal: its ``generation``, and its ``head`` at that moment.

    ``epoch`` is that of the events that follow: the database's when it was claimed.
    """

    journal_id: UUID
    generation: int
    head: int
    epoch: int = epochs.FIRST


@dataclass
class Batch:
    """Consecutive records of one journal, to be appended after ``first - 1``."""

    journal_id: UUID
    generation: int
    first: int
    records: Sequence[Record]
    epoch: int = epochs.FIRST

    @property
    def last(self) -> int:
        """The ``seq`` of the batch's last event."""
        return self.first + len(self.records) - 1

    @cached_property
    def bytes(self) -> int:
        """The bytes of all payloads."""
        return sum(len(record.payload) for record in self.records)

    @property
    def final(self) -> bool:
        """Whether the batch ends the log."""
        return self.records[-1].type in TERMINAL


class Page(NamedTuple):
    """Rows of a journal after a cursor, at most ``PAGE_ROWS`` and about ``PAGE_BYTES``."""

    rows: list[tuple[int, str, str]]
    head: int
    closed: bool
    written: Written
    through: int = 0
    """The last event that was searched, if only some types were asked for."""


class Stretch(NamedTuple):
    """The events of a journal from ``first`` on, as they are stored, for streams.

    At most ``STRETCH_EVENTS`` and about ``PAGE_BYTES``, all of one ``epoch``; without any, that of
    the last event. ``final``: the log ends with the last.
    """

    first: int
    payloads: list[bytes]
    final: bool
    head: int
    closed: bool
    epoch: int


def create() -> Journal:
    """An empty journal."""
    with scope.everywhere():  # it belongs to no team until a run names it
        return Journal.objects.create(id=clock.new_id())


def take_over(journal_id: UUID) -> Claim | None:
    """Become the journal's only writer; None if it is closed."""

    def attempt() -> Claim | None:
        with transaction.atomic(), connection.cursor() as cursor:
            # Three statements in one round trip; we need the rows of the second.
            cursor.execute(TAKE_OVER, [journal_id])
            cursor.nextset()
            row = cursor.fetchone()
            return Claim(journal_id, row[0], row[1], epochs.learn(row[2])) if row else None

    return past_a_frozen_writer(journal_id, attempt)


def past_a_frozen_writer(journal_id: UUID, attempt: Callable[[], T]) -> T:
    """The result of ``attempt``, which waits briefly for the journal's lock in a transaction.

    A worker frozen inside COPY keeps that lock, and no server timeout fires there (measured). So we
    terminate the writer's backend that holds it: its transaction rolls back, and none of it was
    ever visible.
    """
    for last_try in (False, False, True):
        try:
            return attempt()
        except DatabaseError as error:
            if last_try or not isinstance(error.__cause__, LockNotAvailable):
                raise
        with connection.cursor() as cursor:
            terminate = roles.as_login(connection.connection, TERMINATE_WRITER)
            cursor.execute(terminate, [journal_id, WRITER_APPLICATION])
    raise AssertionError("unreachable")


def current_claim(journal_id: UUID) -> Claim:
    """The current claim of a journal: only for a caller that is certainly the writer."""
    row = Journal.objects.get(pk=journal_id)
    return Claim(journal_id, row.writer, row.head, row.written.at(row.head + 1).epoch)


def beginning(journal_id: UUID, records: Sequence[Record]) -> tuple[str, dict[str, Any]]:
    """A statement that appends a log's first records, and its values.

    For the message of the claim or, in its transaction, right after it.
    """
    values = {
        "begin_journal": journal_id,
        "begin_number": len(records),
        "begin_bytes": sum(len(record.payload) for record in records),
        "begin_at": [record.at for record in records],
        "begin_type": [record.type for record in records],
        "begin_payload": [record.payload.decode() for record in records],
    }
    connection.ensure_connection()
    return roles.as_writer(connection.connection, BEGIN), values


def append(batches: Sequence[Batch]) -> set[UUID]:
    """Fence and COPY; the ids whose batch was appended. The others have lost their lease."""
    with roles.appending(), connection.cursor() as cursor:
        cursor.execute(FENCE, fence_values(batches))
        fenced = {row[0] for row in cursor.fetchall()}
        if fenced:
            rows = event_rows(batch for batch in batches if batch.journal_id in fenced)
            # COPY bypasses Django's cursor, so its errors are converted to Django's here.
            with connection.wrap_database_errors, cursor.cursor.copy(COPY) as copy:
                copy.write(rows)
    return fenced


def fence_values(batches: Sequence[Batch]) -> dict[str, Any]:
    """The values of ``FENCE_VALUES``."""
    return {
        "ids": [batch.journal_id for batch in batches],
        "generations": [batch.generation for batch in batches],
        "firsts": [batch.first for batch in batches],
        "lasts": [batch.last for batch in batches],
        "sizes": [batch.bytes for batch in batches],
        "finals": [batch.final for batch in batches],
    }


def append_all(claim: Claim, records: Sequence[Record]) -> None:
    """Append records of any number to a journal without other writers."""
    for start in range(0, len(records), COPY_ROWS):
        part = records[start : start + COPY_ROWS]
        append([Batch(claim.journal_id, claim.generation, claim.head + start + 1, part)])


def confirm(batches: Sequence[Batch]) -> set[UUID]:
    """The ids whose batch is stored already: the connection broke after the commit.

    One writer per generation appends in order, so a head equal to ``last`` under our own generation
    can only be this very batch.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            CONFIRM,
            [
                [batch.journal_id for batch in batches],
                [batch.generation for batch in batches],
                [batch.last for batch in batches],
            ],
        )
        return {row[0] for row in cursor.fetchall()}


def of_types(journal_id: UUID, types: Collection[str], last: int) -> Iterator[str]:
    """The payloads of the events of these types up to ``last``, in order."""
    if types:
        with connection.chunked_cursor() as cursor:
            cursor.execute(OF_TYPES, [journal_id, last, list(types)])
            while rows := cursor.fetchmany(1000):
                if rows[0][0] == reading.SEALED:
                    break
                yield from (payload for _, payload in rows)
            else:
                return
        for _, _, payload in reading.sealed(journal_id, 0, last, types):
            yield payload.decode()


def read_after(journal_id: UUID, after: int, limit: int = PAGE_ROWS) -> Page:
    """The next page after ``after``; ``head`` and ``closed`` are read before the rows.

    A journal that does not exist reads as empty and closed. Raises Purged if the next event was
    purged: numbers have no gaps, so a missing one at the front was purged.
    """
    with connection.cursor() as cursor:
        # One message, but a snapshot for each statement: the rows are as new as the head at least.
        values: list[Any] = [journal_id, journal_id, after, after + limit, None, PAGE_BYTES]
        cursor.execute(f"{STATE}; {reading.READ}", values)
        head, closed, *written = cursor.fetchone() or (0, True)
        cursor.nextset()
        rows = cursor.fetchall()
    rows = reading.instead(rows, journal_id, after, after + limit, PAGE_BYTES)
    end = Written(*written).known_to(head)
    rows = [row for row in rows if row[0] <= end]
    if head > after and (not rows or rows[0][0] > after + 1):
        raise Purged.below(rows[0][0] if rows else head + 1)
    return Page(rows, head, closed, Written(*written))


def read_stretch(journal_id: UUID, after: int, last: int | None = None) -> Stretch:
    """The events after ``after``, up to ``last`` at most; as ``read_after``. Raises Purged, Reset.

    Reset if the log has no event ``after``, or another one than a reader who names its epoch has;
    also if the log itself is gone since an earlier epoch.
    """
    upto = after + STRETCH_EVENTS if last is None else min(after + STRETCH_EVENTS, last)
    with connection.cursor() as cursor:
        values: list[Any] = [journal_id, _TERMINAL, journal_id, after, upto, PAGE_BYTES]
        cursor.execute(f"{STATE}; {STRETCH}", values)
        head, closed, *in_epochs = cursor.fetchone() or (0, True)
        written = Written(*in_epochs)
        cursor.nextset()
        first, final, text = cursor.fetchone() or (None, None, None)
    is_other = head < after or (epoch_of(after) and not written.has(after))
    if is_other if in_epochs else epochs.has_ended(after):
        raise Reset.to(head)
    payloads = text.encode().split(b"\x1e") if text else []
    if first == reading.SEALED:
        rows = reading.sealed_rows(journal_id, after, upto, PAGE_BYTES)
        first, payloads = (after + 1 if rows else None), [payload for _, _, payload in rows]
        final = after + len(rows) == head
    if head > after and first != after + 1:
        raise Purged.below(first or head + 1)
    if after + len(payloads) > (end := written.last_with(after + 1, head)):
        del payloads[int(end) - after :]
        final = False
    epoch = written.at(after + bool(payloads)).epoch
    return Stretch(after + 1, payloads, bool(final), head, closed, epoch)


def search_after(journal_id: UUID, after: int, types: Collection[str], limit: int) -> Page:
    """The next events of these types, of the ``SEARCHED`` events after ``after``."""
    with connection.cursor() as cursor:
        cursor.execute(STATE, [journal_id])
        head, closed, *written = cursor.fetchone() or (0, True)
        last = min(after + SEARCHED, head)
        cursor.execute(OF_TYPES_AFTER, [journal_id, after, last, list(types), limit, PAGE_BYTES])
        rows = cursor.fetchall()
    rows = reading.instead(rows, journal_id, after, last, PAGE_BYTES, types, limit)
    # Less than was asked for may also be due to its bytes.
    through = rows[-1][0] if rows else max(last, after)
    return Page(rows, head, closed, Written(*written), through)


def read_rest(row: Journal, after: int) -> Stretch | None:
    """All that follows ``after`` in a log that has ended, if one stretch has room for it."""
    if not 0 < row.head - after <= STRETCH_EVENTS or row.bytes > PAGE_BYTES:
        return None
    if row.head > row.written.last_with(after + 1, row.head):
        return None
    with connection.cursor() as cursor:
        cursor.execute(STRETCH, [_TERMINAL, row.pk, after, row.head, PAGE_BYTES])
        _, _, text = cursor.fetchone()
    payloads = text.encode().split(b"\x1e") if text else []
    whole = len(payloads) == row.head - after
    epoch = row.written.at(row.head).epoch
    return Stretch(after + 1, payloads, True, row.head, True, epoch) if whole else None


def payloads(journal_id: UUID) -> Iterator[str]:
    """All events of a journal as JSON, read page by page. Raises Purged."""
    after = 0
    while page := read_after(journal_id, after).rows:
        after = page[-1][0]
        yield from (payload for _, _, payload in page)


def heads(journal_ids: Iterable[UUID]) -> dict[UUID, Position]:
    """The newest event of each journal, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(HEADS, [list(journal_ids)])
        return {id_: Written(*written).at(head) for id_, head, *written in cursor.fetchall()}
