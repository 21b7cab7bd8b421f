"""The log of a run, stretch by stretch."""

from collections.abc import AsyncIterator
from uuid import UUID

from backends.postgres.bridge import db_read
from events import journal
from runs.models import Run


async def payloads(run_id: UUID, after: int, last: int) -> AsyncIterator[list[bytes]]:
    """The stored events behind ``after`` up to ``last``. Raises Purged."""
    while after < last:
        stretch = await db_read(journal.read_stretch, run_id, after, last)
        after += len(stretch.payloads)
        yield stretch.payloads


async def ndjson(run: Run) -> AsyncIterator[bytes]:
    """One event per line, each byte by byte as it is stored."""
    async for page in payloads(run.pk, 0, run.journal.head):
        yield b"\n".join(page) + b"\n"
