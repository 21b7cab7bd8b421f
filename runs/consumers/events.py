"""GET /api/v1/runs/{id}/events as server-sent events: replay from a cursor, then live."""

from contextlib import aclosing
from functools import partial
from uuid import UUID

from django.conf import settings

from agui_project.asgi_http import Request, Send, answer, endpoint
from agui_project.bridge import db, db_read
from events import sse
from events.follow import follow
from runs import access, cursors
from teams import authentication
from teams.authentication import Principal


@endpoint
async def events(request: Request, send: Send) -> None:
    """Stream a run; 204 for a cursor at the end of an ended run, which stops an EventSource."""
    principal = await db(authentication.resolve, request.headers, request.cookies)
    cursor = cursors.asked(request.headers, request.query)
    run = await db(access.find, principal, request.kwargs["run_id"])
    after = cursors.check(cursor, run.journal.head)
    if run.journal.closed_at and after == run.journal.head:
        await answer(send, 204)
        return
    await stream_run(request, send, principal, run.pk, after)


async def stream_run(
    request: Request, send: Send, principal: Principal, run_id: UUID, after: int
) -> None:
    """Follow a run until its stored end, the reader's leaving, or the loss of its right to read."""
    location = f"/api/v1/runs/{run_id}/events".encode()
    every = settings.AGUI_SSE_HEARTBEAT
    async with aclosing(follow(run_id, after, idle=every)) as frames:
        await sse.beside(
            sse.stream(
                send,
                frames,
                headers=[(b"content-location", location)],
                recheck=partial(db_read, access.still_readable, principal, run_id),
                every=every,
                stall=settings.AGUI_STALL_TIMEOUT,
            ),
            sse.until_disconnect(request.receive, "http.disconnect"),
        )
