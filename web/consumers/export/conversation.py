"""What a client holds that has read all of a run: its messages."""

import json
from collections.abc import AsyncIterator

from backends.postgres.bridge import db_read
from events import journal
from protocol.encoding import text_bytes
from protocol.fold.fold import Fold
from protocol.strict_json import dumps
from protocol.views.alone import Alone
from runs.models import Run


async def messages(run: Run, alone: Alone | None) -> AsyncIterator[bytes]:
    """A JSON array, a message per line. The log is folded page by page, in a thread."""
    fold, after = Fold(), 0
    while after < run.journal.head:
        after = await db_read(_feed, fold, run, after, alone)
    yield b"["
    for number, message in enumerate(fold.messages):
        yield (b",\n" if number else b"\n") + text_bytes(dumps(message))
    yield b"\n]\n"


def _feed(fold: Fold, run: Run, after: int, alone: Alone | None) -> int:
    """Feed the next page of the log; its last position."""
    page = journal.read_after(run.pk, after, min(journal.PAGE_ROWS, run.journal.head - after))
    for _, _, payload in page.rows:
        event = json.loads(payload)
        fold.feed(event if alone is None else alone.show(event))
    return page.rows[-1][0]
