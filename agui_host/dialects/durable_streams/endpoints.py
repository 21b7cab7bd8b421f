"""/api/v1/runs/{id}/stream: a run's log for clients of Durable Streams 1.0."""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from uuid import UUID

from agui_host.backends.epochs import Reset
from agui_host.backends.postgres.bridge import db, db_read
from agui_host.dialects.durable_streams import ingest, wire
from agui_host.errors import BadCursor, MethodNotAllowed, Unauthenticated
from agui_host.protocol.errors import BadRequest
from agui_host.protocol.ids import Position
from agui_host.teams import authentication
from agui_host.teams.authentication import Principal
from agui_host.web import sse
from agui_host.web.asgi_http import Request, answer, endpoint
from agui_host.web.consumers import arriving
from agui_host.web.consumers.export.log import alone_of, payloads
from agui_host.web.consumers.opening import opened
from agui_host.web.consumers.stream import Logs, send_file, stream_run, while_allowed
from agui_host.web.scope import Send
from events.follow import follow
from events.frames import Frames
from runs.access import access, cursors
from runs.lifecycle.logs.joining import Cut
from runs.models import Run

LONG_POLL_SECONDS = 25.0
OWN_PAGES = ("cross-origin-resource-policy", "same-origin")
"""No page of another site loads a log as an image or a script; fetch asks by CORS, as ever."""
JSON = {
    "content-type": "application/json",
    "vary": "Authorization, Cookie, X-AGUI-User",
    OWN_PAGES[0]: OWN_PAGES[1],
}
BARE = sse.EVENTS._replace(media_type=b"text/event-stream")
"""Some clients of Durable Streams compare the whole header."""
SEALED = "private, max-age=3600, immutable"
"""An ended log never changes, but it can be purged, or no longer be shared with this reader."""
OPEN = "private, no-cache"


@endpoint
async def durable_stream(request: Request, send: Send) -> None:
    """Answer a GET with a page, wait for one (``live=long-poll``), or stream (``live=sse``).

    A POST feeds the run (``ingest.py``).
    """
    method, query = request.scope["method"], request.query
    if method == "POST":
        await ingest.ingest(request, send)
        return
    if method not in ("GET", "HEAD"):
        raise MethodNotAllowed(headers={"Allow": "GET, HEAD, POST"})
    principal = await arriving.reader(request, again="offset" in query)
    run = await db(access.find, principal, request.kwargs["run_id"])
    closed = run.journal.closed_at is not None
    if method == "HEAD":
        headers = wire.tail(_head(run), up_to_date=False, closed=closed)
        await answer(send, 200, b"", {**JSON, "cache-control": "no-store", **headers})
        return
    after, live = _place(run, query), query.get("live")
    async with opened(principal):
        if live == wire.SSE:
            await _stream(request, send, principal, run, after)
            return
        waits = live == wire.LONG_POLL and after == run.journal.head
        if waits and not closed:
            run = await _wait(request, principal, run, after)
        await _answer(request, send, principal, run, after, waited=waits)


def _head(run: Run) -> Position:
    return run.journal.written.at(run.journal.head)


def _place(run: Run, query: Mapping[str, str]) -> Position:
    """The ``seq`` behind which to read. Raises BadCursor, BadRequest, Purged, Reset."""
    offset, live = query.get("offset"), query.get("live")
    if live not in (None, wire.LONG_POLL, wire.SSE):
        raise BadRequest("live must be long-poll or sse.", details={"path": "live"})
    if live is not None and offset is None:
        raise BadRequest("A live read needs an offset.", details={"path": "offset"})
    try:
        return cursors.place(run, wire.position(offset, _head(run)))
    except ValueError:
        raise BadCursor(
            "An offset is -1, now, or a Stream-Next-Offset of this run.",
            details={"path": "offset"},
        ) from None


async def _wait(request: Request, principal: Principal, run: Run, after: int) -> Run:
    """The run as it is once it has more events, or after ``LONG_POLL_SECONDS``."""

    async def more() -> None:
        async with aclosing(follow(run.pk, after, idle=LONG_POLL_SECONDS)) as frames:
            async for _ in frames:
                return

    await while_allowed(more(), request, principal, run.pk, run.team_id, leaving="http.disconnect")
    return await db_read(_again, principal, run.pk, after)


def _again(principal: Principal, run_id: UUID, after: int) -> Run:
    now = authentication.refreshed(principal)
    if now is None:
        raise Unauthenticated("Your credential was revoked while you were waiting.")
    run = access.find(now, run_id)
    if run.journal.head < after or not run.journal.written.has(after):
        raise Reset.to(run.journal.head)  # It was the head before the wait.
    return run


async def _answer(
    request: Request, send: Send, principal: Principal, run: Run, after: int, *, waited: bool
) -> None:
    """The page of everything after ``after``, or why there is none."""
    head, closed = _head(run), run.journal.closed_at is not None
    cache = {"cache-control": SEALED if closed else OPEN}
    if request.query.get("offset") == wire.NOW:
        cache = {"cache-control": "no-store"}
    else:
        cache["etag"] = wire.entity_tag(str(run.pk), after, head, closed=closed)
    headers = {**JSON, **cache, **wire.tail(head, up_to_date=True, closed=closed)}
    if "live" in request.query and not closed:
        headers[wire.CURSOR] = wire.cursor(request.query.get("cursor"))
    if waited and head == after:
        await answer(send, 204, headers={**headers, "cache-control": "no-store"})
    elif "etag" in cache and _has(request.headers.get("if-none-match", ""), cache["etag"]):
        await answer(send, 304, headers=headers)
    elif head == after:
        await answer(send, 200, b"[]", headers)
    else:
        await _send_page(request, send, principal, run, after, headers)


def _has(known: str, etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/") for tag in known.split(",")]
    return etag in tags or "*" in tags


async def _send_page(
    request: Request,
    send: Send,
    principal: Principal,
    run: Run,
    after: int,
    headers: Mapping[str, str],
) -> None:
    """Everything up to the head in one answer: some clients read no second page."""

    async def pieces() -> AsyncIterator[bytes]:
        separator = b"["
        alone = await alone_of(principal, run, after)
        async for page in payloads(run.pk, after, run.journal.head, alone):
            yield separator + b",".join(page)
            separator = b","
        yield b"]"

    await send_file(request, send, principal, run, headers, pieces())


async def _stream(request: Request, send: Send, principal: Principal, run: Run, after: int) -> None:
    """``data`` and ``control`` events up to the stored end."""
    head, previous = _head(run), request.query.get("cursor")
    opening = b""
    if after == head:
        closed = run.journal.closed_at is not None
        opening = wire.control(head, previous, up_to_date=True, closed=closed)

    def view(batch: Frames) -> bytes:
        behind = batch.last < head
        return wire.data(batch.payloads or ()) + wire.control(
            batch.at(batch.last), previous, up_to_date=not behind, closed=batch.final
        )

    await stream_run(
        request,
        send,
        principal,
        Logs.of(principal, run),
        cut=Cut(after, opening),
        view=view,
        headers=[(OWN_PAGES[0].encode(), OWN_PAGES[1].encode())],
        wire=BARE,
    )
