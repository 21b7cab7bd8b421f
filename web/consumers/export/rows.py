"""The outline of a run, page by page."""

import json
from collections.abc import AsyncIterator

from backends.postgres.bridge import db_read
from events import outlines
from runs.models import Run

ROWS = 1_000


async def outline(run: Run) -> AsyncIterator[list[str]]:
    """All rows up to the run's head, each as its JSON."""
    await _fold(run)
    last = 0
    while rows := (await _page(run, last)).rows:
        yield rows
        last = json.loads(rows[-1])["n"]


async def _fold(run: Run) -> None:
    """Have the outline of a long log made, which one request folds only in part."""
    before, head = -1, 0
    while before < head < run.journal.head:  # or it was purged meanwhile
        before, head = head, (await _page(run, 0, limit=1)).head


async def _page(run: Run, after: int, limit: int = ROWS) -> outlines.Slice:
    return await db_read(lambda: outlines.read(run.pk, after, limit=limit))
