"""A file from its reservation to its end. The row comes before the bytes, and goes after them."""

import asyncio
from datetime import timedelta
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Sum

from agui_host.backends.file_store import file_store
from agui_host.backends.postgres import clock
from agui_host.errors import Conflict
from agui_host.teams.actors import Actor
from agui_host.teams.models import Team
from runs.models import File

log = structlog.get_logger(__name__)
BATCH = 100
SLACK = timedelta(minutes=1)


class FilesFull(Conflict):
    """The team has as many files, or bytes in them, as this host allows; delete some first."""

    code = "files_full"


def reserve(team: Team, by: Actor, name: str, size: int) -> File:
    """Room for a file of at most ``size`` bytes; the caller has the team's lock. Raises FilesFull.

    If its upload never ends, the room is free again once no upload can take any longer.
    """
    sizes = File.objects.for_team(team)
    most, most_bytes = settings.AGUI_FILES_MAX, settings.AGUI_FILES_MAX_BYTES
    if most and sizes.count() >= most:
        raise FilesFull(details={"limit": "files", "max": most})
    total = sizes.aggregate(total=Sum("size"))["total"] or 0
    if most_bytes and total + size > most_bytes:
        raise FilesFull(details={"limit": "bytes", "max": most_bytes})
    longest = timedelta(seconds=settings.AGUI_UPLOAD_TIMEOUT)
    file = File(
        team=team,
        name=name,
        media_type="",
        size=size,
        created_by=by.label,
        creator=by.actor_id,
        expires_at=clock.now() + 2 * longest + SLACK,
    )
    file.save(force_insert=True)
    return file


def complete(file: File, name: str, media_type: str, size: int, sha256: str) -> bool:
    """Note that all bytes are stored; False if the reservation is over, with its team perhaps."""
    now = clock.now()
    unused = timedelta(hours=settings.AGUI_FILE_UNUSED_HOURS)
    rows = File.objects.already_found().filter(pk=file.pk, stored_at=None, expires_at__gt=now)
    return bool(
        rows.update(
            name=name,
            media_type=media_type,
            size=size,
            sha256=sha256,
            stored_at=now,
            expires_at=now + unused,
        )
    )


def expire(file: File) -> None:
    """End a file in the caller's transaction: it is invisible from then on, and is swept."""
    File.objects.already_found().filter(pk=file.pk).update(
        stored_at=None, sha256="", expires_at=clock.now()
    )


async def discard(file: File) -> None:
    """Delete the bytes of an expired file; its row is left. Raises OSError."""
    await file_store().delete(file.key)


def sweep() -> int:
    """Delete files that have expired, with their bytes; returns how many.

    The first transaction ends the promise that the bytes are there; a run that is starting at that
    moment has the row's lock and keeps the file.
    """
    with transaction.atomic():
        over = File.objects.of_any_team().filter(expires_at__lt=clock.now(), team__legal_hold=False)
        rows = list(
            over.select_for_update(skip_locked=True, no_key=True, of=("self",))
            .select_related(None)
            .order_by("expires_at")[:BATCH]
        )
        ids = [file.pk for file in rows]
        File.objects.of_any_team().filter(pk__in=ids).update(stored_at=None, sha256="")
    return _delete(rows)


def erase(team: Team) -> None:
    """Delete all files of a team that is being erased. Raises OSError if the store refuses."""
    File.objects.for_team(team).update(stored_at=None, sha256="", expires_at=clock.now())
    for file in File.objects.for_team(team).iterator():
        asyncio.run(discard(file))


def _delete(rows: list[File]) -> int:
    async def discard_each() -> list[UUID]:
        outcomes = await asyncio.gather(*map(discard, rows), return_exceptions=True)
        failed = [each for each in outcomes if isinstance(each, BaseException)]
        if failed:
            log.error("files.not_deleted", count=len(failed), error=str(failed[0]))
        return [
            file.pk
            for file, outcome in zip(rows, outcomes, strict=True)
            if not isinstance(outcome, BaseException)
        ]

    if not rows:
        return 0
    gone = asyncio.run(discard_each())
    File.objects.of_any_team().filter(pk__in=gone).delete()
    if gone:
        log.info("files.swept", count=len(gone))
    return len(gone)
