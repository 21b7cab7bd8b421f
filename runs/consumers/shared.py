"""GET /shared/{token}/runs/{id}/events: a run for those who have a link, in the link view."""

from contextlib import aclosing
from uuid import UUID

from django.conf import settings

from agui_project.asgi_http import Request, Send, answer, endpoint
from agui_project.bridge import db
from events import sse
from events.follow import follow
from events.link_view import LinkView
from events.redaction import Redaction
from runs import access, cursors, sharing
from runs.consumers import opening
from runs.consumers.events import until_refused
from runs.models import Run
from runs.sharing import Opened
from teams import authentication


@endpoint
async def shared_events(request: Request, send: Send) -> None:
    """Stream a shared run from the cursor, without one from its start.

    The log is read from its first event in any case: what is hidden depends on what came before.
    204 for a cursor at the end of an ended run, which stops an EventSource.
    """
    opened, run = await db(_open, request)
    after = cursors.check(cursors.asked(request.headers, request.query), run.journal.head)
    if run.journal.closed_at and after == run.journal.head:
        await answer(send, 204)
        return
    view = LinkView(Redaction(opened.grant.redact))
    async with (
        opening.opened(opened.principal),
        aclosing(follow(run.pk, 0, idle=settings.AGUI_SSE_HEARTBEAT)) as frames,
    ):
        await sse.begin(send, [(b"referrer-policy", b"no-referrer")])
        refused = await sse.beside(
            sse.stream(
                send,
                frames,
                stall=settings.AGUI_STALL_TIMEOUT,
                # never an empty piece of body: to some servers that is the end
                view=lambda batch: batch.linked(view, after) or sse.HEARTBEAT,
            ),
            sse.until_disconnect(request.receive, "http.disconnect"),
            until_refused(opened.principal, run.pk),
        )
        if refused:
            await sse.refuse(send)


def _open(request: Request) -> tuple[Opened, Run]:
    run_id: UUID = request.kwargs["run_id"]
    opened = sharing.open_link(request.kwargs["token"], authentication.person(request.cookies))
    return opened, access.find(opened.principal, run_id)
