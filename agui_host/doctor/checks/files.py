"""The store of uploaded files and sealed logs, and the disk of the data directory."""

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator

from django.conf import settings

from agui_host.backends.file_store import file_store
from agui_host.doctor.findings import Fault, check
from agui_host.runtimes import file_directory

FOLDER = "doctor"
CONTENT = b"doctor"
LEAST_BYTES = 1 << 30


@check("files", needs="migrations")
def store() -> str | list[Fault]:
    """Whether it is the database's, and returns written files unchanged."""
    for message in file_directory.one_directory(["default"]):
        return [Fault(str(message.msg), str(message.hint))]
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
    return settings.AGUI_FILES


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
