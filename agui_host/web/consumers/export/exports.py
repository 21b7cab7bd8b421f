"""GET /api/v1/runs/{id}/export: all of a run as one file, sent piece by piece."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import closing
from typing import NamedTuple

from agui_host.backends.held import Held, Hold
from agui_host.backends.postgres.bridge import db, db_read
from agui_host.errors import MethodNotAllowed
from agui_host.protocol.encoding import NDJSON
from agui_host.protocol.errors import Invalid
from agui_host.protocol.views.alone import Alone
from agui_host.teams.authentication import Principal
from agui_host.teams.limits import LimitReached
from agui_host.web.asgi_http import Request, endpoint
from agui_host.web.consumers import arriving
from agui_host.web.consumers.export.archive import archive
from agui_host.web.consumers.export.conversation import messages
from agui_host.web.consumers.export.log import alone_of, ndjson
from agui_host.web.consumers.export.page import page
from agui_host.web.consumers.export.trace import trace
from agui_host.web.consumers.opening import opened
from agui_host.web.consumers.stream import send_file
from agui_host.web.scope import Send
from runs.access import access, cursors, sight
from runs.access.inspect import archives, effects
from runs.models import Run

Pieces = AsyncIterator[bytes]

ledger = Held(process=256_000_000, team=128_000_000)
"""Exports under way."""
PIECE = 12_000_000
"""Bytes of the largest stretch of a log: about one largest event."""
FOLD = 2
"""Memory of a folded log, as a multiple of its bytes."""


def _of(
    pieces: Callable[[Run, Alone | None], Pieces],
) -> Callable[[Principal, Run], Awaitable[Pieces]]:
    """For exports that every viewer of the run can have, as far as they see it."""

    async def made(principal: Principal, run: Run) -> Pieces:
        return pieces(run, await alone_of(principal, run))

    return made


async def _archive(principal: Principal, run: Run) -> Pieces:
    return archive(run, await db_read(archives.opening, principal, run))


async def _trace(principal: Principal, run: Run) -> Pieces:
    own = await db_read(effects.rows, principal, run)
    return trace(run, await alone_of(principal, run), own)


class Format(NamedTuple):
    """How a file is called, its media type, and its pieces; ``make`` refuses before the first."""

    extension: str
    media_type: str
    make: Callable[[Principal, Run], Awaitable[Pieces]]
    ends_anywhere: bool = False
    folds: bool = False

    def memory(self, run: Run) -> int:
        """Bytes that the process holds at once while it sends the file."""
        stored = run.journal.bytes
        return FOLD * stored if self.folds else min(stored, PIECE)


FORMATS: Mapping[str, Format] = {
    "ndjson": Format("ndjson", NDJSON, _of(ndjson), ends_anywhere=True),
    "messages": Format(
        "messages.json", "application/json", _of(messages), ends_anywhere=True, folds=True
    ),
    "trace": Format("trace.json", "application/json", _trace),
    "html": Format("html", "text/html; charset=utf-8", _of(page)),
    "archive": Format("archive.ndjson", NDJSON, _archive),
}


def _cut(run: Run, at: str, chosen: Format) -> None:
    """Let the file end with the event ``at``. Raises BadCursor, Invalid, and Reset."""
    if not chosen.ends_anywhere:
        raise Invalid("Files of this format are of whole runs.", details={"path": "at"})
    # The row is this request's own and is never saved.
    run.journal.head = cursors.parameter(run, {"at": at}, "at")


def _hold(principal: Principal, size: int) -> Hold:
    """Room for a file. Raises LimitReached while other exports take too much."""
    hold = Hold(ledger, principal.team.pk)
    if not hold.take(size):
        raise LimitReached.of("export_bytes", ledger.team, after=5.0)
    return hold


@endpoint
async def export(request: Request, send: Send) -> None:
    """A file up to the run's head at this moment, or to the event ``at``.

    ``?format=`` names one of ``FORMATS``.
    """
    if request.scope["method"] != "GET":
        raise MethodNotAllowed(headers={"Allow": "GET"})
    principal = await arriving.reader(request, again=False)
    run = await db(access.find, principal, request.kwargs["run_id"])
    chosen = FORMATS.get(request.query.get("format", "ndjson"))
    if chosen is None:
        names = ", ".join(FORMATS)
        raise Invalid(f"format must be one of: {names}.", details={"path": "format"})
    cursors.place(run, None)  # a purged run has no file
    if "at" in request.query:
        _cut(run, request.query["at"], chosen)
    # Asked before the pieces are chosen: a right that is lost in between ends them.
    whole = sight.is_whole(principal, run) or bool(
        await db_read(sight.seen_whole, principal, [run.pk])
    )
    pieces = await chosen.make(principal, run)
    headers = {
        "content-type": chosen.media_type,
        "content-disposition": f'attachment; filename="run-{run.pk}.{chosen.extension}"',
        "x-content-type-options": "nosniff",
    }
    with closing(_hold(principal, chosen.memory(run))):
        async with opened(principal):
            await send_file(request, send, principal, run, headers, pieces, whole=whole)
