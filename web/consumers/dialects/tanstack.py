"""GET /agui/agent/{slug}/run: TanStack AI's client joins a run, or loads a thread.

Its POST is that of every client of AG-UI (``web/consumers/agui.py``).
"""

from backends.postgres.bridge import db, db_read
from events.frames import Frames
from protocol.dialects import tanstack as format
from protocol.errors import BadRequest
from protocol.views import raw
from runs.access import cursors
from runs.access.dialects import tanstack
from runs.lifecycle.joining import Cut
from runs.models import Run
from teams.authentication import Principal
from web import sse
from web.asgi_http import Request, answer_json, endpoint
from web.consumers import arriving
from web.consumers.opening import opened
from web.consumers.stream import Logs, stream_run
from web.scope import Send


def wants_lines(request: Request) -> bool:
    """Whether the client reads lines of JSON, and no server-sent events."""
    accept = request.headers.get("accept", "").lower()
    return format.LINES in accept and "text/event-stream" not in accept


def is_tanstack(request: Request) -> bool:
    """Its POST names the run in a header; it reads AG-UI 1.0 without declaring it."""
    return "x-run-id" in request.headers or wants_lines(request)


def framing(request: Request, *, with_raw: bool) -> tuple[sse.View | None, sse.Wire]:
    """How the client gets a log; the view is None for server-sent events, as everyone has them."""
    if not wants_lines(request):
        return None, sse.EVENTS
    return (lines if with_raw else rawless_lines), sse.LINES


def lines(batch: Frames) -> bytes:
    """The stored log as lines."""
    return format.lines(batch.payloads or (), batch.first)


def rawless_lines(batch: Frames) -> bytes:
    """``lines`` without RAW and ``rawEvent``; never nothing, which may end an answer."""
    payloads = map(raw.payload, batch.payloads or ())
    numbered = enumerate(payloads, batch.first)
    return (
        b"".join([format.lines([each], seq) for seq, each in numbered if each is not None]) or b"\n"
    )


@endpoint
async def tanstack_read(request: Request, send: Send) -> None:
    """Replay the run ``runId`` from ``offset`` (-1: all of it), or answer for ``threadId``."""
    query = request.query
    principal = await arriving.caller(request)
    slug = request.kwargs["slug"]
    if query.get("runId"):
        await _replay(request, send, principal, slug)
    elif query.get("threadId"):
        await answer_json(
            send, 200, await db_read(tanstack.hydration, principal, slug, query), _NO_STORE
        )
    else:
        raise BadRequest("Send runId and offset to join a run, or threadId to load a thread.")


_NO_STORE = {"cache-control": "no-store"}


async def _replay(request: Request, send: Send, principal: Principal, slug: str) -> None:
    cursor = tanstack.position(request.headers, request.query.get("offset", "-1"))
    with_raw = cursors.raw(request.query)
    view, framed = framing(request, with_raw=with_raw)
    run: Run = await db(tanstack.named, principal, slug, request.query["runId"])
    after = cursors.place(run, cursor)
    async with opened(principal):
        await stream_run(
            request,
            send,
            principal,
            Logs.of(principal, run),
            cut=Cut(after, b""),
            raw=with_raw,
            view=view,
            wire=framed,
        )
