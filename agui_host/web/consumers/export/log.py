"""The log of a run, stretch by stretch."""

from collections.abc import AsyncIterator
from uuid import UUID

from agui_host.backends.epochs import Reset
from agui_host.backends.postgres.bridge import db_history, db_read
from agui_host.protocol.ids import Position
from agui_host.protocol.views.alone import Alone
from agui_host.teams.authentication import Principal
from events import journal
from runs.access import sight
from runs.models import Run


async def alone_of(principal: Principal, run: Run, after: int = 0) -> Alone | None:
    """The view of a reader who sees the run alone, after that event; None for any other."""
    if sight.is_whole(principal, run):
        return None
    return await db_read(sight.view, principal, run, after)


async def payloads(
    run_id: UUID, after: int, last: int, alone: Alone | None
) -> AsyncIterator[list[bytes]]:
    """The events behind ``after`` up to ``last``, as the reader sees them.

    Raises Purged, and Reset if the log has since lost some of them.
    """
    while after < last:
        after, page = await db_history(_page, run_id, after, last, alone)
        yield page


def _page(run_id: UUID, after: int, last: int, alone: Alone | None) -> tuple[Position, list[bytes]]:
    stretch = journal.read_stretch(run_id, after, last)
    stored = stretch.payloads
    if not stored:
        raise Reset.to(stretch.head)
    place = Position(after + len(stored), stretch.epoch)
    return place, stored if alone is None else list(map(alone.see, stored))


async def ndjson(run: Run, alone: Alone | None = None) -> AsyncIterator[bytes]:
    """One event per line, for readers of all of it byte by byte as it is stored."""
    async for page in payloads(run.pk, 0, run.journal.head, alone):
        yield b"\n".join(page) + b"\n"
