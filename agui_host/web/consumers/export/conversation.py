"""The messages of a client that has read all of a run."""

from collections.abc import AsyncIterator

from agui_host.backends.epochs import Reset
from agui_host.backends.postgres.bridge import db_history
from agui_host.protocol import patient_json
from agui_host.protocol.encoding import text_bytes
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.ids import Position
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.views.alone import Alone
from events import journal
from runs.models import Run


async def messages(run: Run, alone: Alone | None) -> AsyncIterator[bytes]:
    """A JSON array, a message per line. The log is folded page by page, in a thread."""
    fold, after = Fold(), Position(0)
    while after < run.journal.head:
        after = await db_history(_feed, fold, run, after, alone)
    yield b"["
    for number, message in enumerate(fold.messages):
        yield (b",\n" if number else b"\n") + text_bytes(dumps(message))
    yield b"\n]\n"


def _feed(fold: Fold, run: Run, after: Position, alone: Alone | None) -> Position:
    """Feed the next page of the log; its last position. Raises Reset if the log lost events."""
    page = journal.read_after(run.pk, after, min(journal.PAGE_ROWS, run.journal.head - after))
    if not page.rows or not page.written.has(after):
        raise Reset.to(page.head)
    for _, _, payload in page.rows:
        event = patient_json.loads(payload)
        fold.feed(event if alone is None else alone.show(event))
    return page.written.at(page.rows[-1][0])
