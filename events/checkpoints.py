"""Checkpoints: stored folds, so that joining a long run reads few of its events (ADR 0002)."""

import asyncio
from collections.abc import Callable
from uuid import UUID

import structlog
from django.db import connection

from agui_host.backends import apart
from agui_host.backends.postgres.bridge import db
from agui_host.protocol import patient_json
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.schema import TERMINAL
from events.journal import PAGE_BYTES
from events.models import Checkpoint
from events.sealed import reading

log = structlog.get_logger(__name__)

EVERY_EVENTS = 5_000
EVERY_BYTES = 1_000_000
LARGEST = 3_000_000
PAGE_ROWS = 1000
NEWEST_EVENT = 2**31 - 1

NEWEST = """
select seq, fold from events_checkpoint
 where journal_id = %s and seq <= %s order by seq desc limit 1
"""


Base = Callable[[], Fold]
"""The fold at a run's beginning. It stays the same during the run, so checkpoints contain it."""


def fold_at(journal_id: UUID, position: int, base: Base = Fold) -> Fold:
    """The fold of a journal's events up to ``position``; a head beyond the log's means all of it.

    Reads the newest checkpoint and the events after it, page by page, and stores the next
    checkpoint if there were many. This takes time: call it through ``await db(fold_at, …)``, never
    on the event loop.
    """
    return _advance(journal_id, position, base)[0]


def whole(journal_id: UUID, base: Fold) -> Fold:
    """The fold of an ended log on top of ``base``; reads only what its last checkpoint lacks."""
    return fold_at(journal_id, NEWEST_EVENT, lambda: base)


def save(journal_id: UUID, seq: int, fold: Fold) -> int:
    """Store the fold of everything up to ``seq``, unless one exists; returns its size in bytes."""
    text = fold.dump()
    Checkpoint.objects.bulk_create(
        [Checkpoint(journal_id=journal_id, seq=seq, fold=text)], ignore_conflicts=True
    )
    return len(text)


class Checkpointer:
    """Runs next to the executor of one run and stores checkpoints as its log grows.

    It only counts; a thread of the bridge makes the fold from the committed events. A team's folds
    take turns.
    """

    def __init__(self, journal_id: UUID, base: Base = Fold, team: object = "") -> None:
        self._journal_id = journal_id
        self._base = base
        self._team = team
        self._events = self._bytes = self._stored = 0
        self._storing: asyncio.Task[None] | None = None

    def note(self, events: int, size: int) -> None:
        """Count events being appended, of so many bytes; store when it is time. Never raises."""
        self._events += events
        self._bytes += size
        if self._events < EVERY_EVENTS and self._bytes < EVERY_BYTES:
            return
        if self._storing is None and _is_due(self._events, self._bytes, self._stored):
            self._events = self._bytes = 0
            self._storing = asyncio.create_task(self._store(), name="checkpoint")

    async def close(self) -> None:
        """Wait for the checkpoint that is being stored, if any."""
        if self._storing is not None:
            await self._storing

    async def settle(self, store: Callable[[], object]) -> None:
        """Call ``store``, which folds the ended log, if much was added since the newest checkpoint.

        Otherwise the thread's next claim would have to do it, and its run would wait.
        """
        if self._events < EVERY_EVENTS and self._bytes < EVERY_BYTES:
            return
        try:
            async with apart.fold_turn(self._team):
                await db(store)
        except Exception as error:
            log.warning("checkpoint.failed", journal=str(self._journal_id), error=str(error))

    async def _store(self) -> None:
        try:
            async with apart.fold_turn(self._team):
                self._stored = await db(_store_next, self._journal_id, self._base)
        except Exception as error:
            # Without a checkpoint joining takes longer, but the run itself is not affected.
            log.warning("checkpoint.failed", journal=str(self._journal_id), error=str(error))
        finally:
            self._storing = None


def _store_next(journal_id: UUID, base: Base) -> int:
    """Fold the log, whose next checkpoint that stores; the size of the newest one."""
    return _advance(journal_id, NEWEST_EVENT, base)[1]


def _advance(journal_id: UUID, position: int, base: Base) -> tuple[Fold, int]:
    """The fold at ``position``, and the size of the newest checkpoint below it."""
    seq, fold, stored = _newest(journal_id, position) or (0, base(), 0)
    events = size = 0
    while seq < position:
        last = min(position, seq + PAGE_ROWS)
        rows = reading.rows(journal_id, seq, last, PAGE_BYTES)
        if not rows:
            break
        payloads = [payload for _, _, payload in rows]
        # Read as one array: takes a third less time than reading one by one.
        for event in patient_json.loads(f"[{','.join(payloads)}]"):
            fold.feed(event)
        seq = rows[-1][0]
        events += len(payloads)
        size += sum(map(len, payloads))
        if rows[-1][1] in TERMINAL:
            break  # Nothing follows the end of a log.
    if _is_due(events, size, stored) and fold.terminal is None:
        stored = save(journal_id, seq, fold)
    return fold, stored


def _newest(journal_id: UUID, position: int) -> tuple[int, Fold, int] | None:
    """The newest checkpoint not beyond ``position``: its seq, its fold, its size."""
    with connection.cursor() as cursor:
        cursor.execute(NEWEST, [journal_id, position])
        row = cursor.fetchone()
    if row is not None:
        try:
            return row[0], Fold.load(row[1]), len(row[1])
        except ValueError:
            log.info("checkpoint.other_format", journal=str(journal_id))
    return None


def _is_due(events: int, size: int, stored: int) -> bool:
    """Whether so many events since the last checkpoint are worth a new one.

    ``stored`` is that one's size. With ``size >= stored`` all checkpoints together never take more
    room than the log, nor more than a fixed share of its time. After a ``LARGEST`` one there are no
    more: a worker holds several copies while it makes one, and its memory must stay flat however
    long a run is.
    """
    return (events >= EVERY_EVENTS or size >= EVERY_BYTES) and stored <= min(size, LARGEST)
