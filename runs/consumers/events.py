"""GET /api/v1/runs/{id}/events as server-sent events: replay from a cursor, then live."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from uuid import UUID

from django.conf import settings

from agui_project.asgi_http import Request, Send, answer, endpoint
from agui_project.bridge import db, db_read
from events import guard, sse
from events.follow import follow
from events.frames import Frames
from events.older import frames as older_frames
from runs import access, cursors, joining
from runs.consumers import arriving
from runs.consumers.opening import opened
from runs.joining import Cut
from runs.models import Run
from teams import revocation
from teams.authentication import Principal


@endpoint
async def events(request: Request, send: Send) -> None:
    """Stream a run: its log from the cursor; without one a live run as a stock client joins it.

    204 for a cursor at the end of an ended run, which stops an EventSource.
    """
    principal = await arriving.reader(request, again="last-event-id" in request.headers)
    cursor = cursors.asked(request.headers, request.query)
    run = await db(access.find, principal, request.kwargs["run_id"])
    after = cursors.place(run, cursor)
    if run.journal.closed_at and after == run.journal.head:
        await answer(send, 204)
        return
    raw = cursors.raw(request.query)
    async with opened(principal):
        cut: Cut | None = None
        if run.journal.closed_at is None and cursor is None:
            cut = await db_read(_join, principal, run)
        cut = cut or Cut(after, b"")
        await stream_run(request, send, principal, run.pk, cut, owner=run.team_id, raw=raw)


def _join(principal: Principal, run: Run) -> Cut | None:
    """The prelude is the whole thread's; who sees one run of it only reads that one's log."""
    return joining.live(run) if access.sees_thread(principal, run) else Cut(0, b"")


async def stream_run(
    request: Request,
    send: Send,
    principal: Principal,
    run_id: UUID,
    cut: Cut,
    *,
    then: Sequence[UUID] = (),
    owner: UUID | None = None,
    older: bool = False,
    raw: bool = True,
) -> None:
    """Follow a run until its stored end, the reader's leaving, or the loss of its right to read.

    The runs ``then`` come behind it, each from its start. ``owner`` is the run's team, if that
    is not the principal's. ``older``: a reader of AG-UI 0.x;
    without ``raw`` it gets neither RAW nor ``rawEvent``.
    """
    location = f"/api/v1/runs/{run_id}/events".encode()
    every = settings.AGUI_SSE_HEARTBEAT
    await sse.begin(send, [(b"content-location", location)])
    async with aclosing(_follow_each([run_id, *then], cut.position, every)) as frames:
        refused = await sse.beside(
            sse.stream(
                send,
                frames,
                opening=older_frames(cut.opening) if older else cut.opening,
                stall=settings.AGUI_STALL_TIMEOUT,
                view=sse.view(as_older=older, raw=raw),
            ),
            sse.until_disconnect(request.receive, "http.disconnect"),
            until_refused(principal, run_id, owner),
        )
    if refused:
        await sse.refuse(send)


async def until_refused(principal: Principal, run_id: UUID, owner: UUID | None = None) -> None:
    """Return once the principal may not read the run, which another team may own, any more."""
    await guard.until_refused(
        {revocation.group(team) for team in (principal.team.pk, owner) if team},
        partial(db_read, access.still_readable, principal, run_id),
        settings.AGUI_SSE_HEARTBEAT,
    )


async def _follow_each(
    run_ids: Sequence[UUID], after: int, idle: float
) -> AsyncGenerator[Frames | None, None]:
    for run_id in run_ids:
        async with aclosing(follow(run_id, after, idle=idle)) as frames:
            async for batch in frames:
                yield batch
                del batch  # a stalled reader must not keep two pages alive
        after = 0
