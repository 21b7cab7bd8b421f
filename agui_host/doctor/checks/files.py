"""The store of uploaded files and sealed logs, and the disk of the data directory."""

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator
from datetime import timedelta

from django.conf import settings
from django.db.models import Q

from agui_host.backends.file_store import file_store
from agui_host.backends.postgres import clock
from agui_host.doctor.findings import Fault, check
from agui_host.runtimes import file_directory
from runs.models import File

FOLDER = "doctor"
CONTENT = b"doctor"
LEAST_BYTES = 1 << 30
NEWEST = 20


@check("files", needs="migrations")
def store() -> str | list[Fault]:
    """Whether it is the database's, returns written files unchanged, and has the newest uploads."""
    if problem := file_directory.problem(with_unmarked=True):
        return [Fault(*problem)]
    try:
        content = asyncio.run(_tried(f"{FOLDER}/{secrets.token_hex(8)}"))
    except OSError as error:
        return [
            Fault(
                f"The store of AGUI_FILES, {settings.AGUI_FILES}, fails:"
                f" {error.strerror or error}.",
                "Let this account write there, or name a different place (docs/howto-files.md).",
            )
        ]
    if content != CONTENT:
        return [
            Fault(
                f"The store of AGUI_FILES, {settings.AGUI_FILES}, returns other bytes than it got.",
                "Use a store that reads its own writes.",
            )
        ]
    if absent := _absent():
        return [
            Fault(
                f"The store of AGUI_FILES, {settings.AGUI_FILES}, lacks {absent} of the newest"
                f" {NEWEST} uploads.",
                "Name the store that web writes to: a bucket, or a directory that all machines"
                " share. If it is this one, restore its files (docs/backup.md).",
            )
        ]
    return settings.AGUI_FILES


def _absent() -> int:
    """How many of the newest uploads are not there, as in a copy of another machine's directory."""
    soon = clock.now() + timedelta(minutes=10)
    lasting = Q(expires_at=None) | Q(expires_at__gt=soon)
    rows = File.objects.of_any_team().filter(lasting, stored_at__isnull=False).order_by("-id")
    place, absent = file_store(settings.AGUI_FILES), 0
    for row in rows[:NEWEST]:
        try:
            place.range(row.key, 0, 1)
        except FileNotFoundError:
            absent += 1
    return absent


async def _tried(key: str) -> bytes:
    async def blocks() -> AsyncIterator[bytes]:
        yield CONTENT

    place = file_store(settings.AGUI_FILES)
    await place.put(key, blocks())
    try:
        return b"".join([block async for block in place.read(key)])
    finally:
        await place.delete(key)


@check("disk")
def disk() -> str | list[Fault]:
    """Whether the data directory has room; without one, such as before a first start, it is ok."""
    folder = settings.AGUI_DATA_DIR
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return f"{folder} is not there"
    if free >= LEAST_BYTES:
        return f"{free >> 30} GB free in {folder}"
    return [
        Fault(
            f"{folder} has {free >> 20} MB left.",
            "Free some space, or move AGUI_DATA_DIR (docs/operations.md#a-full-disk).",
        )
    ]
