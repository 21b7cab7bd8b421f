"""Sweeping: deletes objects that nothing refers to, and writes others again without erased logs.

An object is doomed in a transaction, then deleted, then its row goes: after a crash the next sweep
continues. Who reads an object that was written again looks up where the log is now.
"""

import asyncio
from collections.abc import Iterable, Iterator
from datetime import timedelta
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from agui_host.backends.file_store import file_store
from agui_host.backends.postgres import clock, scope
from events.models import SealedObject, SealedPart
from events.sealed import blocks, sealing
from events.sealed.form import Section, Unfit
from events.sealed.sealing import State

log = structlog.get_logger(__name__)
GIVEN_UP = timedelta(hours=2)
"""How long an object may be written. Its transaction fails if it took longer."""
HAS_PARTS = Exists(SealedPart.objects.filter(object_id=OuterRef("pk")))


def forget(journal_ids: Iterable[UUID]) -> set[UUID]:
    """Drop these logs, whose rows the caller has locked, from their objects; which were sealed.

    They are not read from the commit on, and the next sweep takes their bytes.
    """
    parts = SealedPart.objects.filter(journal_id__in=list(journal_ids))
    rows = list(parts.values_list("journal_id", "object_id"))
    if rows:
        objects = SealedObject.objects.filter(pk__in={each for _, each in rows}, state=State.SEALED)
        with scope.everywhere():  # a list that all teams share
            objects.update(state=State.STALE)
        parts.delete()
    return {journal_id for journal_id, _ in rows}


def sweep(failed: set[UUID]) -> bool:
    """Delete an object, or write one again, if there is any that has not ``failed``."""
    target = _doomed(failed)
    if target is None:
        stale = SealedObject.objects.filter(state=State.STALE).exclude(pk__in=failed)
        if (target := stale.order_by("began_at").first()) is None:
            return False
    try:
        if target.state == State.DOOMED:
            asyncio.run(file_store().delete(blocks.key(target.place, target.pk)))
            SealedObject.objects.filter(pk=target.pk, state=State.DOOMED).delete()
        else:
            _rewrite(target)
    except (OSError, Unfit) as error:
        name = blocks.key(target.place, target.pk)
        log.error("seals.not_swept", object=name, error=repr(error))
        failed.add(target.pk)
    return True


def _doomed(failed: set[UUID]) -> SealedObject | None:
    """The next object to delete; nothing refers to it, and nothing will."""
    given_up = Q(state=State.WRITING, began_at__lt=clock.now() - GIVEN_UP)
    useless = Q(state=State.STALE) & ~HAS_PARTS
    with transaction.atomic():
        rows = SealedObject.objects.select_for_update(skip_locked=True)
        over = rows.filter(Q(state=State.DOOMED) | given_up | useless).exclude(pk__in=failed)
        if (target := over.order_by("began_at").first()) is not None:
            target.state = State.DOOMED
            target.save(update_fields=["state"])
        return target


def _rewrite(stale: SealedObject) -> None:
    """Write an object again with the logs that still refer to it."""
    parts = SealedPart.objects.filter(object=stale).order_by("offset", "journal_id", "first")
    heads = dict[UUID, int]()
    for journal_id, last in parts.values_list("journal_id", "last"):
        heads[journal_id] = max(last, heads.get(journal_id, 0))

    def source(journal_id: UUID) -> Iterator[Section]:
        for part in parts.filter(journal_id=journal_id).order_by("first"):
            yield from (
                section
                for section in blocks.read(part)[0]
                if (section.journal_id, section.first) == (journal_id, part.first)
            )

    def move(target: SealedObject, fresh: list[SealedPart]) -> set[UUID]:
        list(sealing.locked(heads))
        there = set(parts.values_list("journal_id", flat=True))
        parts.delete()
        SealedPart.objects.bulk_create(
            [part for part in fresh if part.journal_id in there], batch_size=2_000
        )
        SealedObject.objects.filter(pk=stale.pk).update(state=State.DOOMED)
        return there

    gone = stale.logs - len(sealing.write(stale.place, heads, source, move))
    log.info("seals.rewritten", object=blocks.key(stale.place, stale.pk), erased=gone)
