"""A run as one HTML file that needs no host: the page contains its log and its outline."""

from collections.abc import AsyncIterator

from agui_host.backends.postgres.bridge import db_read
from agui_host.dashboard.run import offline
from agui_host.protocol.views.alone import Alone
from agui_host.web.consumers.export.log import ndjson
from agui_host.web.consumers.export.rows import outline
from runs.models import Run


async def page(run: Run, alone: Alone | None) -> AsyncIterator[bytes]:
    """The page with the log and the outline as lines of JSON."""
    yield await db_read(offline.opening, run)
    async for piece in ndjson(run, alone):
        yield offline.quoted(piece)
    yield offline.BETWEEN
    async for rows in outline(run, alone):
        yield offline.quoted("".join(f"{row}\n" for row in rows).encode())
    yield offline.END
