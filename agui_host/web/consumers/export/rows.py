"""The outline of a run, page by page."""

import json
from collections.abc import AsyncIterator, Callable

from agui_host.backends.postgres.bridge import db_read
from agui_host.protocol.views.alone import Alone
from events import outlines
from runs.access.inspect.outlines import of_run_alone
from runs.models import Run

ROWS = 1_000


async def outline(run: Run, alone: Alone | None = None) -> AsyncIterator[list[str]]:
    """All rows up to the run's head, each as its JSON."""
    await _fold(run)
    last = 0
    show = str if alone is None else of_run_alone
    while rows := (await _page(run, last, show=show)).rows:
        yield rows
        last = json.loads(rows[-1])["n"]


async def _fold(run: Run) -> None:
    """Have the outline of a long log made, which one request folds only in part."""
    before, head = -1, 0
    while before < head < run.journal.head:  # or it was purged meanwhile
        before, head = head, (await _page(run, 0, limit=1)).head


async def _page(
    run: Run, after: int, limit: int = ROWS, show: Callable[[str], str] = str
) -> outlines.Slice:
    return await db_read(lambda: outlines.read(run.pk, after, limit=limit, show=show))
