"""Sealing: ended logs become one object. The object is first, then one transaction takes its logs.

1. A row for the object: from now on a crash leaves nothing that ``sweeping`` does not find.
2. The object, which is then read back and compared with the rows.
3. One transaction, under the lock of each log, notes where its events are and dooms its rows. Until
   then readers get rows, from then on the object; a log that was erased before is left out.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from tempfile import SpooledTemporaryFile
from typing import IO
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import QuerySet

from agui_host.backends.file_store import file_store
from agui_host.backends.file_store.store import BLOCK
from events.models import Checkpoint, Doomed, Journal, SealedObject, SealedPart
from events.sealed import blocks, form
from events.sealed.form import Digest, Section, Unfit

log = structlog.get_logger(__name__)

STEP_EVENTS = 1_000
IN_MEMORY = 8_000_000
"""Bytes of an object above which it is built on the disk."""
ROWS = "select seq, at, type, payload from agui_sealable_events(%s, %s, %s) order by seq"
State = SealedObject.State
Source = Callable[[UUID], Iterator[Section]]
"""Where the events of a log are read from, in sections of any size."""


def from_rows(journal_id: UUID) -> Iterator[Section]:
    """The events of a log as its rows have them."""
    after = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute(ROWS, [journal_id, after, after + STEP_EVENTS])
            rows = cursor.fetchall()
        if not rows:
            return
        if rows[0][0] != after + 1 or rows[-1][0] != after + len(rows):
            raise Unfit("Rows of the log are missing.")
        section = Section(journal_id, after + 1)
        for _, at, type_, payload in rows:
            section.add(at, type_, payload.encode())
        after = section.last
        yield section


def seal(place: UUID, journals: Sequence[Journal]) -> int:
    """Seal these closed logs of one team in one object, in this order; returns how many were.

    Raises OSError if the store fails, and Unfit if the object differs from the rows: then
    nothing has changed, but for an object that ``sweeping`` deletes.
    """
    heads = {journal.pk: journal.head for journal in journals}
    return len(write(place, heads, from_rows, take))


def write(
    place: UUID,
    heads: dict[UUID, int],
    source: Source,
    note: Callable[[SealedObject, list[SealedPart]], set[UUID]],
) -> set[UUID]:
    """Write these logs as an object, and let ``note`` make it theirs, in one transaction.

    The logs of which the object is now. ``heads`` are their last events.
    """
    target = SealedObject.objects.create(place=place)
    try:
        with SpooledTemporaryFile(IN_MEMORY) as file:
            parts, digests = _build(target, file, heads, source)
            target.size = file.tell()
            file.seek(0)
            asyncio.run(file_store().put(blocks.key(place, target.pk), _pieces(file)))
        _compare(parts, digests)
        with transaction.atomic():
            locked = SealedObject.objects.select_for_update().filter(pk=target.pk)
            if not locked.filter(state=State.WRITING).exists():
                return set()  # It took so long that the sweep has given it up.
            done = note(target, parts)
            target.logs = len(done)
            target.state = State.SEALED if len(done) == len(heads) else State.STALE
            target.save(update_fields=["size", "logs", "state"])
            return done
    except Exception:
        _abandon(target)
        raise


def _abandon(target: SealedObject) -> None:
    """Let the next sweep delete an object that nothing refers to; else a later one gives it up."""
    with suppress(DatabaseError, InterfaceError):
        SealedObject.objects.filter(pk=target.pk, state=State.WRITING).update(state=State.DOOMED)


def take(target: SealedObject, parts: list[SealedPart]) -> set[UUID]:
    """Note the parts of logs that are in rows, and doom these rows; the logs that were there."""
    ends = {part.journal_id: part.last for part in parts}
    # The bytes of a doomed log are 0.
    rows = locked(ends).filter(closed_at__isnull=False, bytes__gt=0)
    there = {row.pk for row in rows if row.head == ends[row.pk]}
    sealed = SealedPart.objects.filter(journal_id__in=there)
    there -= set(sealed.values_list("journal_id", flat=True))
    SealedPart.objects.bulk_create(
        [part for part in parts if part.journal_id in there], batch_size=2_000
    )
    Doomed.objects.bulk_create([Doomed(journal_id=each, last=ends[each]) for each in sorted(there)])
    # Only live runs are joined in the middle.
    Checkpoint.objects.filter(journal_id__in=there).delete()
    return there


def locked(journal_ids: Iterable[UUID]) -> QuerySet[Journal]:
    """These journals, locked in one order: sealing, rewriting and erasing take turns."""
    rows = Journal.objects.select_for_update(no_key=True).filter(pk__in=list(journal_ids))
    return rows.order_by("pk")


def _build(
    target: SealedObject, file: "IO[bytes]", heads: dict[UUID, int], source: Source
) -> tuple[list[SealedPart], dict[UUID, Digest]]:
    """Write the blocks to ``file``; where each section is, and what each log consists of."""
    parts: list[SealedPart] = []
    digests: dict[UUID, Digest] = {}
    waiting: list[Section] = []
    size = 0

    def flush() -> None:
        nonlocal size
        if waiting:
            block, offset = form.pack(waiting), file.tell()
            file.write(block)
            parts.extend(
                SealedPart(
                    journal_id=section.journal_id,
                    first=section.first,
                    last=section.last,
                    object=target,
                    place=target.place,
                    offset=offset,
                    length=len(block),
                )
                for section in waiting
            )
        waiting.clear()
        size = 0

    for journal_id, head in heads.items():
        digest = digests[journal_id] = Digest()
        section = None
        for piece in source(journal_id):
            digest.add(piece)
            for at, type_, payload in zip(piece.ats, piece.types, piece.payloads, strict=True):
                if section is None:
                    section = Section(journal_id, _next(waiting, parts, journal_id))
                    waiting.append(section)
                section.add(at, type_, payload)
                size += len(payload)
                if size >= form.BLOCK_BYTES:
                    flush()
                    section = None
        if digest.events != head:
            raise Unfit("The log has another number of events.")
    flush()
    return parts, digests


def _next(waiting: list[Section], parts: list[SealedPart], journal_id: UUID) -> int:
    """The first event of a log's next section."""
    if parts and not waiting and parts[-1].journal_id == journal_id:
        return parts[-1].last + 1
    return 1


def _compare(parts: list[SealedPart], digests: dict[UUID, Digest]) -> None:
    """Read the object back. Raises Unfit if a log differs from its rows."""
    stored = {journal_id: Digest() for journal_id in digests}
    for _, of_block in groupby(parts, key=lambda part: part.offset):
        for section in blocks.read(next(of_block))[0]:
            stored[section.journal_id].add(section)
    if stored != digests:
        raise Unfit("The object differs from the written data.")


async def _pieces(file: "IO[bytes]") -> AsyncIterator[bytes]:
    while piece := file.read(BLOCK):
        yield piece
