"""POST /agui: a stock AG-UI client starts a run and reads it as server-sent events."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.bridge import db, db_read
from agui_host.teams.authentication import Principal
from agui_host.web import sse
from agui_host.web.asgi_http import Request, endpoint
from agui_host.web.consumers import arriving
from agui_host.web.consumers.opening import opened
from agui_host.web.consumers.stream import Logs, stream_run
from agui_host.web.scope import App, Send
from agui_host.web.shares.viewing import Viewing, payer_of
from events.hub import Reader, hub
from runs.access import cursors, start
from runs.access.start import StartOutcome
from runs.lifecycle.logs import joining
from runs.lifecycle.logs.joining import Cut


class LogForm(NamedTuple):
    """How a client gets a log; the view is None for server-sent events, as everyone has them.

    ``opening`` makes a prelude's server-sent events into the frames of this wire. ``declared``: the
    protocol that the client reads without declaring it.
    """

    view: sse.View | None
    wire: sse.Wire
    opening: Callable[[bytes], bytes] | None = None
    declared: str | None = None


FormOf = Callable[[Request, bool], LogForm]
"""The form for a request, with RAW and ``rawEvent`` or without."""


def agui(form_of: FormOf) -> App:
    """The app that starts a run and streams it, in the form that ``form_of`` chooses."""
    return endpoint(partial(_start, form_of))


async def _start(form_of: FormOf, request: Request, send: Send) -> None:
    """Start the run, then follow it. Leaving does not cancel it; coming back is a GET.

    A request that repeats an earlier one joins that run, but never its raw log, which would double
    the client's events.
    """
    principal = await authenticate(request)
    raw = cursors.raw(request.query)
    cursors.protocol(request.query)  # refused before anything is written
    async with opened(principal):
        new_id = clock.new_id()
        reader = await hub().expect(new_id)
        try:
            started = await db(
                start.start_from_agui,
                principal,
                # No local name for the body: it must not live as long as the stream.
                await request.body(),
                agent=request.kwargs.get("slug"),
                on_busy=request.query.get("on_busy"),
                key=request.headers.get("idempotency-key"),
                cursor=cursors.from_request(request.headers, {}),
                new_id=new_id,
                chat="slug" in request.kwargs,
            )
            await _follow(
                request, send, principal, started, reader, raw=raw, form=form_of(request, raw)
            )
        finally:
            hub().leave(new_id, reader)


async def _follow(
    request: Request,
    send: Send,
    principal: Principal,
    started: StartOutcome,
    reader: Reader,
    *,
    raw: bool,
    form: LogForm,
) -> None:
    """Send the run; ``reader`` has expected it, if this request has made it at once."""
    run = started.run
    if started.after is not None:
        cuts = [Cut(started.after, b"")]
    else:
        cuts = [await db_read(joining.again, run)]
    if form.opening is not None:
        joined = cuts.pop()
        size, frames = len(joined.opening), partial(form.opening, joined.opening)
        opening = await Viewing(payer_of(principal)).make(size, frames)
        cuts.append(Cut(joined.position, opening))
        del joined, frames, opening
    await stream_run(
        request,
        send,
        principal,
        Logs.of(principal, run),
        cut=cuts.pop(),  # It must not live as long as the stream.
        reads=cursors.protocol(request.query, form.declared or started.declared),
        raw=raw,
        view=form.view,
        wire=form.wire,
        reader=reader if hub().is_read_by(run.pk, reader) else None,
    )


async def authenticate(request: Request) -> Principal:
    """The caller. A cookie alone is not enough for a POST: the page must be one of ours."""
    principal = await arriving.caller(request)
    arriving.refuse_foreign_page(principal, request, json_body=True)
    return principal
