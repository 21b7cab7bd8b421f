"""A run as one HTML file that needs no host: its log and its outline stand in the page."""

from collections.abc import AsyncIterator

from backends.postgres.bridge import db_read
from dashboard.run import offline
from protocol.views.alone import Alone
from runs.models import Run
from web.consumers.export.log import ndjson
from web.consumers.export.rows import outline


async def page(run: Run, alone: Alone | None) -> AsyncIterator[bytes]:
    """The page with the log and the outline as lines of JSON."""
    yield await db_read(offline.opening, run)
    async for piece in ndjson(run, alone):
        yield offline.quoted(piece)
    yield offline.BETWEEN
    async for rows in outline(run, alone):
        yield offline.quoted("".join(f"{row}\n" for row in rows).encode())
    yield offline.END
