"""Outlines of runs: folded in bounded steps, on demand and once a long run has ended.

A live run's outline stays in the memory of the process that was asked, so each request reads only
the events since the one before. An ended run's outline is stored in pages, by a job of the worker
or by a reader who is faster. Then a request reads the pages that it returns, however long the run.
"""

import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from json import loads
from typing import NamedTuple
from uuid import UUID

import structlog
from django.db import DatabaseError, connection, transaction

from agui_host.backends import epochs
from agui_host.backends.postgres import scope
from agui_host.protocol import patient_json
from agui_host.protocol.fold.outline import FEEDS, FORMAT, Outline
from agui_host.protocol.fold.outline_row import Row
from agui_host.protocol.ids import uuid7_seconds
from agui_host.protocol.strict_json import dumps
from events.journal import STATE
from events.models import OutlinePage
from events.sealed import reading

log = structlog.get_logger(__name__)

MOST_ROWS = 10_000
"""Rows in one answer, which also ends after ``MOST_BYTES``."""
MOST_BYTES = 4_000_000
SECONDS = 3.0
"""How long one request folds; a longer log is continued by the next one."""


class Building:
    """The callers that fold a long log in this process: at most ``most``, one log each."""

    def __init__(self, most: int) -> None:
        self._most, self._callers, self._lock = most, set[str](), threading.Lock()

    def begin(self) -> str | None:
        """The caller that has begun, for ``end``; None if it can take a short step only."""
        caller = scope.lane()
        with self._lock:
            if caller in self._callers or len(self._callers) >= self._most:
                return None
            self._callers.add(caller)
        return caller

    def end(self, caller: str) -> None:
        """The caller has folded; another can begin."""
        with self._lock:
            self._callers.discard(caller)


BUILDING = Building(4)
"""Other requests take a short step."""
SHORT = 5_000
STEP_EVENTS, STEP_BYTES = 2_000, 1_000_000
WORTH_STORING = 2_000
"""Events: the outline of a shorter log is folded again each time, which takes milliseconds."""
ROWS_IN_PAGE = 500
CACHED_ROWS = 200_000
CACHED = 64
STORED_AT_ONCE = 20_000
"""Events after which ``Storing`` stores its rows, so that no step is long."""

# The bytes of a doomed log are 0.
CLOSED = "select head from events_journal where id = %s and closed_at is not null and bytes > 0"
# The log must not be doomed while its outline is being stored: that would outlive it.
CLOSED_AND_STAYS = f"{CLOSED} for share"


class Slice(NamedTuple):
    """Rows as JSON texts, and ``head``, the last event that they take into account."""

    rows: list[str]
    head: int


class Growing:
    """The outline of a log that was not complete at the last request."""

    def __init__(self, journal_id: UUID) -> None:
        self.lock = threading.Lock()
        self.outline = Outline(queued=round(uuid7_seconds(journal_id) * 1000))
        self.stored = -1


_growing: OrderedDict[tuple[UUID, int], Growing] = OrderedDict()
"""By journal and epoch: in another one its events may be others."""
_registry = threading.Lock()


def read(
    journal_id: UUID,
    after: int = 0,
    *,
    since: int = 0,
    limit: int = MOST_ROWS,
    seconds: float | None = None,
    show: Callable[[str], str | None] = str,
) -> Slice:
    """The rows with a number above ``after`` that began or changed after the event ``since``.

    ``show`` makes the reader's view of a row, or None if they do not.

    Of a log that is too long to fold in so many ``seconds`` (``SECONDS`` by default), ``head`` is
    where this request ended. The caller has checked access.
    """
    with connection.cursor() as cursor:
        cursor.execute(STATE, [journal_id])
        head, closed, *_ = cursor.fetchone() or (0, True)
    if closed and _stored(journal_id).get("seq") == head:
        return _taken(map(show, _stored_rows(journal_id, after, since)), limit, head)
    growing = _of(journal_id)
    with growing.lock:
        if closed and growing.stored < 0:
            _load(journal_id, growing)
        outline = growing.outline
        _advance(journal_id, outline, head, SECONDS if seconds is None else seconds)
        if closed and outline.seq - max(growing.stored, 0) >= WORTH_STORING:
            _store(journal_id, growing)
        rows = outline.rows[after:] if not since else outline.since(since)
        texts = (show(dumps(row.wire())) for row in rows if row.n > after)
        answer = _taken(texts, limit, outline.seq)
    _tidy(journal_id, done=closed and answer.head >= head)
    return answer


def _taken(rows: Iterable[str | None], limit: int, head: int) -> Slice:
    taken: list[str] = []
    size = 0
    for row in rows:
        if row is None:
            continue
        if len(taken) == limit or size > MOST_BYTES:
            break
        taken.append(row)
        size += len(row)
    return Slice(taken, head)


def _advance(journal_id: UUID, outline: Outline, head: int, seconds: float) -> None:
    """Fold new events, for so many seconds at most; one step if others are at it."""
    is_long = head - outline.seq > SHORT
    alone = BUILDING.begin() if is_long else None
    until = time.monotonic() + (seconds if alone is not None or not is_long else 0)
    try:
        while outline.seq < head:
            _step(journal_id, outline, min(outline.seq + STEP_EVENTS, head))
            if time.monotonic() > until:
                break
    finally:
        if alone is not None:
            BUILDING.end(alone)


def _step(journal_id: UUID, outline: Outline, last: int) -> None:
    rows = reading.rows(journal_id, outline.seq, last, STEP_BYTES, FEEDS)
    size = 0
    # Read as one array: takes a third less time than reading one by one.
    whole = patient_json.loads(f"[{','.join(payload for _, _, payload in rows)}]")
    for (seq, _, payload), event in zip(rows, whole, strict=True):
        bytes_ = len(payload.encode())
        outline.feed(seq, event, bytes_)
        size += bytes_
    if size < STEP_BYTES:  # otherwise the step was cut
        outline.seq = last  # the events between are of types that an outline ignores


class Storing:
    """Folds the log of a long run that has ended, a step at a time, and stores its outline.

    It continues rows that an earlier try or a reader has stored.
    """

    def __init__(self, journal_id: UUID) -> None:
        self.journal_id = journal_id
        self._growing = Growing(journal_id)

    def step(self) -> bool:
        """Fold some more events; whether there is more to do. May be repeated after an error.

        Nothing is left to do if the log was purged, or if there are so many rows that no process
        keeps them: readers continue from the stored ones.
        """
        growing, head = self._growing, self._head()
        stored = _stored(self.journal_id).get("seq", 0)
        if head is None or stored == head:
            return False
        if stored > growing.stored:  # at the beginning, or a reader was faster
            _load(self.journal_id, growing)
        outline = growing.outline
        ends = outline.seq >= head or len(outline.rows) >= CACHED_ROWS
        if not ends:
            _step(self.journal_id, outline, min(outline.seq + STEP_EVENTS, head))
        if outline.seq - growing.stored >= (1 if ends else STORED_AT_ONCE):
            _store(self.journal_id, growing)
        return not ends

    def _head(self) -> int | None:
        """The last event; None if the log was purged or is not complete."""
        with connection.cursor() as cursor:
            cursor.execute(CLOSED, [self.journal_id])
            row = cursor.fetchone()
        return None if row is None else row[0]


# --- in memory


def _of(journal_id: UUID) -> Growing:
    with _registry:
        key = journal_id, epochs.latest
        growing = _growing.setdefault(key, Growing(journal_id))
        _growing.move_to_end(key)
        return growing


def _tidy(journal_id: UUID, *, done: bool) -> None:
    """Forget a complete outline, and those without a recent request."""
    with _registry:
        if done:
            _growing.pop((journal_id, epochs.latest), None)
        rows = sum(len(growing.outline.rows) for growing in _growing.values())
        while _growing and (rows > CACHED_ROWS or len(_growing) > CACHED):
            _, oldest = _growing.popitem(last=False)
            rows -= len(oldest.outline.rows)


# --- stored


def _stored(journal_id: UUID) -> dict[str, int]:
    """What ``Outline.dump`` wrote, in page 0; empty if nothing is stored."""
    page = OutlinePage.objects.filter(journal_id=journal_id, page=0).first()
    head: dict[str, int] = loads(_text(page)) if page is not None else {}
    return head if head.get("format") == FORMAT else {}


def _stored_rows(journal_id: UUID, after: int, since: int) -> Iterator[str]:
    pages = OutlinePage.objects.filter(
        journal_id=journal_id, page__gt=after // ROWS_IN_PAGE, changed__gt=since
    )
    skip = after % ROWS_IN_PAGE
    for page in pages.order_by("page").iterator(chunk_size=2):
        first = page.page == after // ROWS_IN_PAGE + 1
        for row in _text(page).split("\n")[skip if first else 0 :]:
            if not since or Row.load(loads(row)).changed > since:
                yield row


def _load(journal_id: UUID, growing: Growing) -> None:
    """Continue from what another request has stored of an ended log."""
    growing.stored = 0
    if head := _stored(journal_id):
        rows = map(loads, _stored_rows(journal_id, 0, 0))
        growing.outline = Outline.load(head, rows)
        growing.stored = growing.outline.seq


def _store(journal_id: UUID, growing: Growing) -> None:
    """Store the pages that changed; without them, the next request only takes longer."""
    outline = growing.outline
    changed: dict[int, int] = {}
    for row in outline.since(growing.stored):
        page = (row.n - 1) // ROWS_IN_PAGE
        changed[page] = max(changed.get(page, 0), row.changed)
    pages = [_page(journal_id, 0, 0, dumps(outline.dump()))]
    for page, seq in changed.items():
        rows = outline.rows[page * ROWS_IN_PAGE : (page + 1) * ROWS_IN_PAGE]
        text = "\n".join(dumps(row.wire()) for row in rows)
        pages.append(_page(journal_id, page + 1, seq, text))
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(CLOSED_AND_STAYS, [journal_id])
            stored = _stored(journal_id)
            if cursor.rowcount and stored.get("seq", 0) <= growing.stored:
                _replace(pages)
                growing.stored = outline.seq
    except DatabaseError as error:
        log.warning("outline.not_stored", journal=str(journal_id), error=str(error))


def _page(journal_id: UUID, page: int, changed: int, text: str) -> OutlinePage:
    rows = zlib.compress(text.encode(), 1)
    return OutlinePage(journal_id=journal_id, page=page, changed=changed, rows=rows)


def _text(page: OutlinePage) -> str:
    return zlib.decompress(page.rows).decode()


def _replace(pages: list[OutlinePage]) -> None:
    OutlinePage.objects.bulk_create(
        pages,
        batch_size=20,
        update_conflicts=True,
        unique_fields=["journal_id", "page"],
        update_fields=["changed", "rows"],
    )
