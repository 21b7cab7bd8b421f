"""The log of a run, stretch by stretch."""

from collections.abc import AsyncIterator
from uuid import UUID

from agui_host.backends.epochs import Reset
from agui_host.backends.postgres.bridge import db_history, db_read
from agui_host.protocol.ids import Position
from agui_host.protocol.views.alone import Alone
from agui_host.protocol.views.corrected import Corrected
from agui_host.teams.authentication import Principal
from events import journal
from runs.access import sight
from runs.lifecycle.logs import corrections
from runs.models import Run


async def alone_of(principal: Principal, run: Run, after: int = 0) -> Alone | None:
    """The view of a reader who sees the run alone, after that event; None for any other."""
    if sight.is_whole(principal, run):
        return None
    return await db_read(sight.view, principal, run, after)


async def payloads(
    run_id: UUID, after: int, last: int, *views: Alone | Corrected | None
) -> AsyncIterator[list[bytes]]:
    """The events behind ``after`` up to ``last``, as the reader sees them.

    Raises Purged, and Reset if the log has since lost some of them.
    """
    while after < last:
        after, page = await db_history(_page, run_id, after, last, *views)
        yield page


def _page(
    run_id: UUID, after: int, last: int, *views: Alone | Corrected | None
) -> tuple[Position, list[bytes]]:
    stretch = journal.read_stretch(run_id, after, last)
    stored = stretch.payloads
    if not stored:
        raise Reset.to(stretch.head)
    place = Position(after + len(stored), stretch.epoch)
    for view in views:
        if view is not None:
            stored = list(map(view.see, stored))
    return place, stored


async def ndjson(run: Run, alone: Alone | None = None) -> AsyncIterator[bytes]:
    """One event per line, as it is stored; a text that a snapshot corrects is the new text.

    The file of a log that is cut before the snapshot has the new text as well.
    """
    begins = None if alone is None else alone.begins
    corrected = await corrections.of_apart(run.pk, run.team_id, begins=begins)
    view = corrected and corrected.without_whole()
    async for page in payloads(run.pk, 0, run.journal.head, alone, view):
        yield b"\n".join(page) + b"\n"
