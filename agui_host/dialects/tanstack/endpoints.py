"""GET /agui/agent/{slug}/run: TanStack AI's client joins a run, or loads a thread.

Its POST is that of every client of AG-UI (``agui_host/web/consumers/agui.py``).
"""

from agui_host.backends.postgres.bridge import db, db_read
from agui_host.dialects.tanstack import verbs as tanstack
from agui_host.dialects.tanstack import wire as format
from agui_host.protocol.encoding import NDJSON, text_bytes
from agui_host.protocol.errors import BadRequest, HostError
from agui_host.protocol.schema import PROTOCOL_VERSION
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.views import raw
from agui_host.teams.authentication import Principal
from agui_host.web import sse
from agui_host.web.asgi_http import Request, answer_json, endpoint
from agui_host.web.consumers import arriving
from agui_host.web.consumers.agui import LogForm
from agui_host.web.consumers.opening import opened
from agui_host.web.consumers.stream import Logs, stream_run
from agui_host.web.scope import Send
from events.frames import Frames
from runs.access import cursors
from runs.lifecycle.logs.joining import Cut
from runs.models import Run


def wants_lines(request: Request) -> bool:
    """Whether the client reads lines of JSON, and no server-sent events."""
    accept = request.headers.get("accept", "").lower()
    return NDJSON in accept and "text/event-stream" not in accept


def is_tanstack(request: Request) -> bool:
    """Its POST names the run in a header; it reads AG-UI 1.0 without declaring it."""
    return "x-run-id" in request.headers or wants_lines(request)


def _line_of_reset(error: HostError) -> bytes:
    return b"%b\n" % text_bytes(dumps(format.refusal(error)))


def _event_of_reset(error: HostError) -> bytes:
    return b"data: %b\n" % _line_of_reset(error)


LINES = sse.LINES._replace(reset=_line_of_reset)
EVENTS = sse.EVENTS._replace(reset=_event_of_reset)


def form_of(request: Request, with_raw: bool) -> LogForm:
    """How the client gets a log: as lines, or as server-sent events with its form of a reset."""
    declared = PROTOCOL_VERSION if is_tanstack(request) else None
    if wants_lines(request):
        view = lines if with_raw else rawless_lines
        return LogForm(view, LINES, format.prelude_lines, declared)
    own_reset = request.scope["method"] == "GET" or declared is not None
    return LogForm(None, EVENTS if own_reset else sse.EVENTS, declared=declared)


def lines(batch: Frames) -> bytes:
    """The stored log as lines."""
    return format.lines(batch.payloads or (), batch.first, batch.numbering)


def rawless_lines(batch: Frames) -> bytes:
    """``lines`` without RAW and ``rawEvent``; never nothing, which could end an answer."""
    payloads = map(raw.payload, batch.payloads or ())
    numbered = enumerate(payloads, batch.first)
    lines_ = [
        format.lines([each], seq, batch.numbering) for seq, each in numbered if each is not None
    ]
    return b"".join(lines_) or b"\n"


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
    form = form_of(request, with_raw)
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
            view=form.view,
            wire=form.wire,
        )
