"""Refuses a second directory of files on one database: an upload here would be missing there.

The database has a mark, and a file in the directory repeats it. Processes that share the directory
find it; on another machine with a separate directory, web and worker do not start.
"""

import os
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection

from agui_host.backends.postgres import scope
from agui_host.embedded import embedded, paths
from agui_host.runtimes.models import FILES, FileDirectory

log = structlog.get_logger(__name__)
NAME = "store_id"
PROBLEM = "AGUI_FILES: {place} is not the directory that keeps the files of this database."
HINT = (
    "Set AGUI_FILES to a bucket (s3://bucket/prefix) or to a directory that all machines share. If"
    " this is the right directory, because its files were moved or are lost, write {mark} into"
    " {file}."
)


def claim() -> None:
    """Mark the directory at the first start. Raises ImproperlyConfigured for another directory."""
    place = _directory()
    if place is None:
        return
    try:
        with scope.everywhere():
            stored = _stored() or _mark(place)
    except OSError as error:
        log.warning("files.not_writable", setting="AGUI_FILES", error=error.strerror)
        return
    except DatabaseError as error:
        log.warning("files.not_checked", error=type(error).__name__)
        return
    finally:
        if not connection.in_atomic_block:
            connection.close()
    if stored != _read(place):
        raise ImproperlyConfigured(" ".join(_texts(place, stored)))


def repeat_mark(place: Path) -> None:
    """Let another directory, into which the files are copied, be the one of this database."""
    stored = _stored()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    if stored is not None and _read(place) != stored:
        (place / NAME).unlink(missing_ok=True)
        paths.write_private(place / NAME, f"{stored}\n")


def problem(*, with_unmarked: bool) -> tuple[str, str] | None:
    """Why the directory of this process is not that of the database, and the remedy; else None.

    A directory without a mark counts ``with_unmarked``: neither web nor worker starts with it.
    """
    if (place := _directory()) is None:
        return None
    mark, stored = _read(place), _stored()
    if stored in (None, mark):
        return None
    if mark is None and not (with_unmarked and _is_unmarked(place)):
        return None
    return _texts(place, stored)


@register(Tags.database)
def one_directory(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """The directory of this process, if it has a mark, has that of the database."""
    try:
        # One without a mark can be that of an account that only migrates.
        with scope.everywhere():
            texts = problem(with_unmarked=False) if databases else None
    except DatabaseError:
        return []  # Not migrated yet.
    return [Error(texts[0], hint=texts[1], id="agui.E006")] if texts else []


def _directory() -> Path | None:
    """The directory of files; None with a bucket, or an engine that only this machine has."""
    if "://" in settings.AGUI_FILES or embedded.own_engines()["postgres"]:
        return None
    return Path(settings.AGUI_FILES)


def _texts(place: Path, mark: uuid.UUID | None) -> tuple[str, str]:
    return PROBLEM.format(place=place), HINT.format(mark=mark, file=place / NAME)


def _stored() -> uuid.UUID | None:
    return FileDirectory.objects.values_list("mark", flat=True).first()


def _read(place: Path) -> uuid.UUID | None:
    try:
        return uuid.UUID((place / NAME).read_text().strip())
    except (OSError, ValueError):
        return None


def _is_unmarked(place: Path) -> bool:
    """False also if this account cannot see it."""
    try:
        (place / NAME).stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _mark(place: Path) -> uuid.UUID:
    """Mark directory, then database; returns the mark of the process that was first."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    if _read(place) is None:
        draft = place / f"{NAME}.{uuid.uuid4().hex}"
        paths.write_private(draft, f"{uuid.uuid4()}\n")
        with suppress(FileExistsError):
            os.link(draft, place / NAME)
        draft.unlink()
    mark = _read(place) or uuid.uuid4()
    return FileDirectory.objects.get_or_create(defaults={"mark": mark}, pk=FILES)[0].mark
