"""GET /api/v1/runs/{id}/events as server-sent events: replay from a cursor, then live."""

from backends.postgres.bridge import db, db_read
from runs.access import access, cursors
from runs.lifecycle import joining
from runs.lifecycle.joining import Cut
from runs.models import Run
from teams.authentication import Principal
from web.asgi_http import Request, answer, endpoint
from web.consumers import arriving
from web.consumers.opening import opened
from web.consumers.stream import stream_run
from web.scope import Send


@endpoint
async def events(request: Request, send: Send) -> None:
    """Stream a run: its log from the cursor; without one a live run as a stock client joins it.

    204 for a cursor at the end of an ended run, which stops an EventSource.
    """
    principal = await arriving.reader(request, again="last-event-id" in request.headers)
    cursor = cursors.from_request(request.headers, request.query)
    run = await db(access.find, principal, request.kwargs["run_id"])
    after = cursors.place(run, cursor)
    if run.journal.closed_at and after == run.journal.head:
        await answer(send, 204)
        return
    raw, reads = cursors.raw(request.query), cursors.protocol(request.query)
    async with opened(principal):
        cut: Cut | None = None
        if run.journal.closed_at is None and cursor is None:
            cut = await db_read(_join, principal, run)
        cut = cut or Cut(after, b"")
        await stream_run(
            request, send, principal, [run.pk], owner=run.team_id, cut=cut, reads=reads, raw=raw
        )


def _join(principal: Principal, run: Run) -> Cut | None:
    # The prelude covers the whole thread, so a reader who sees only this run gets its log.
    return joining.live(run) if access.sees_thread(principal, run) else Cut(0, b"")
