"""Blocks of sealed logs: where they are, and the few that this process keeps unpacked.

All of it blocks, so it is called in the threads of the bridge, as every read of a log. A store that
hangs must not take all of those: only some may wait for it at once, and after a failure there is a
pause in which readers are refused at once.
"""

import functools
import threading
import time
from collections.abc import Iterator
from uuid import UUID

import structlog
from django.conf import settings

from agui_host.backends import metrics, work
from agui_host.backends.file_store import file_store
from agui_host.backends.shelf import Shelf
from agui_host.protocol.errors import HostError
from events.models import SealedPart
from events.sealed import form
from events.sealed.form import Section

log = structlog.get_logger(__name__)

PARTS = 50
"""Parts of a long log that are looked up at once."""
WAIT = 1.0
"""Seconds to wait for a turn at the store."""
PAUSE = 2.0
"""Seconds after a failure of the store in which no process thread waits for it again."""
LARGER = 3
"""How much larger than its text an unpacked block is."""

_shelf: Shelf[tuple[UUID, int], list[Section]] = Shelf(
    process=64_000_000, team=16_000_000, unused=60.0
)
_away_until = 0.0


class LogUnavailable(HostError):
    """The store of old logs does not answer; try again."""

    code = "log_unavailable"
    status = 503
    close = 4412


class LogMissing(HostError):
    """This log was moved to the store of old logs, and is not there; the operators are told."""

    code = "log_missing"
    status = 503
    close = 4412


def key(place: UUID, object_id: UUID) -> str:
    """The name of an object in the file store; ``place`` is the team whose logs are in it."""
    return f"sealed/{place}/{object_id}"


def sections(journal_id: UUID, after: int, upto: int) -> Iterator[Section]:
    """The sections of a sealed log that contain events behind ``after``, up to ``upto``.

    None for a log that is not, or no longer, sealed. Raises LogUnavailable and LogMissing.
    """
    while after < upto:
        rows = SealedPart.objects.filter(journal_id=journal_id, last__gt=after, first__lte=upto)
        if not (parts := list(rows.order_by("first")[:PARTS])):
            return
        for part in parts:
            if (section := _section(part)) is None:
                return
            yield section
            after = section.last


def read(part: SealedPart) -> tuple[list[Section], int]:
    """The sections of the block in which a part is, from the store. Raises OSError and Unfit."""
    store = file_store()
    block = store.range(key(part.place, part.object_id), part.offset, part.length)
    if len(block) != part.length:
        raise form.Unfit("The object is too short.")
    return form.unpack(block)


def _section(part: SealedPart) -> Section | None:
    """The section of a part; None if the log was erased a moment ago."""
    while True:
        try:
            for section in _block(part):
                if (section.journal_id, section.first) == (part.journal_id, part.first):
                    return section
            raise form.Unfit("The block has no such section.")
        except FileNotFoundError:
            # The object was written again, without a log that was erased.
            now = SealedPart.objects.filter(pk=part.pk).first()
            if now is None:
                return None
            if now.object_id == part.object_id:
                _report("seals.object_missing", part, "")
                raise LogMissing from None
            part = now
        except form.Unfit as error:
            _report("seals.object_damaged", part, str(error))
            raise LogMissing from error


def _report(event: str, part: SealedPart, error: str) -> None:
    name = key(part.place, part.object_id)
    log.error(event, journal=str(part.journal_id), object=name, error=error)


def _block(part: SealedPart) -> list[Section]:
    place = (part.object_id, part.offset)
    if (unpacked := _shelf.get(place)) is not None:
        return unpacked
    turns = _turns()
    if time.monotonic() < _away_until or not turns.acquire(timeout=WAIT):
        raise LogUnavailable
    try:
        unpacked, size = read(part)
    except FileNotFoundError:
        raise
    except OSError as error:
        _pause()
        log.warning("seals.store_failed", error=str(error))
        raise LogUnavailable from error
    finally:
        turns.release()
    metrics.unsealed.inc(size)
    work.charge(part.place, "unseal", size // work.BYTES)
    _shelf.put(place, unpacked, part.place, size * LARGER)
    return unpacked


def _pause() -> None:
    global _away_until
    _away_until = time.monotonic() + PAUSE


def forget() -> None:
    """Keep no block, and end a pause (for tests)."""
    global _away_until
    _away_until = 0.0
    _shelf.clear()


@functools.cache
def _turns() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(max(1, settings.AGUI_DB_THREADS // 2))
