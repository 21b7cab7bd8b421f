"""Server-sent events over raw ASGI: frames out, heartbeats when idle, bounded waits.

Independent of runs and users: it gets an async iterator of frames and a limit. Django's
StreamingHttpResponse would hold a thread per open stream, and Channels' AsyncHttpConsumer does not
notice disconnects while it streams.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from typing import NamedTuple, cast

from agui_host.protocol.errors import HostError
from agui_host.protocol.strict_json import dumps
from agui_host.web.scope import Receive, Send
from events.frames import Frames

Header = tuple[bytes, bytes]
View = Callable[[Frames], bytes]
"""How a reader sees a batch; the bytes are made once per batch and shared by all with that view."""

Show = Callable[[View, Frames], Awaitable[bytes]]

HEADERS: tuple[Header, ...] = (
    # A compressing proxy would hold the frames until its buffer is full.
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
HEARTBEAT = b": heartbeat\n"
"""No empty line follows: after an id, httpx-sse and OpenAI's decoder take that for an event."""


def _reset_event(error: HostError) -> bytes:
    details = dumps({"reset": True, **error.details})
    return b"event: reset\ndata: %b\n\n" % details.encode()


class Wire(NamedTuple):
    """A stream's frames besides its events: at its beginning, when idle, when access is lost.

    In server-sent events these are lines of the frame that follows, never a frame without data.

    ``reset`` makes the last bytes of a stream whose history went back.
    """

    media_type: bytes
    greeting: bytes
    heartbeat: bytes
    revoked: bytes
    reset: Callable[[HostError], bytes] = _reset_event


# A browser reconnects at once, and the answer it then gets contains the reason.
EVENTS = Wire(
    b"text/event-stream; charset=utf-8",
    b"retry: 1000\n",
    HEARTBEAT,
    b": revoked\nretry: 10\n",
)
WITHOUT_RETRY = EVENTS._replace(greeting=HEARTBEAT, revoked=b": revoked\n")
"""For clients that do not know ``retry``."""
LINES = Wire(b"application/x-ndjson", b"\n", b"\n", b"\n")
FAREWELL = 1.0
"""How many seconds a reader that has stalled has for the last frame."""


def whole(frames: Frames) -> bytes:
    """The stored log, for a reader of AG-UI 1.0."""
    return frames.sse


def rawless(frames: Frames) -> bytes:
    """``whole`` without RAW and ``rawEvent``."""
    return frames.rawless_sse


async def begin(send: Send, headers: Iterable[Header], wire: Wire = EVENTS) -> None:
    """Answer 200: a stream follows."""
    kind = (b"content-type", wire.media_type)
    await send(
        {"type": "http.response.start", "status": 200, "headers": [kind, *HEADERS, *headers]}
    )


async def whole_answer(
    send: Send, body: bytes, headers: Iterable[Header], *, stall: float, wire: Wire = EVENTS
) -> None:
    """Answer 200 with a stream that is complete: no heartbeats, nothing to wait for."""
    await begin(send, headers, wire)
    async with asyncio.timeout(stall):
        await send({"type": "http.response.body", "body": wire.greeting + body})


async def stream(
    send: Send,
    frames: AsyncIterator[Frames | None],
    *,
    stall: float,
    opening: Iterable[bytes] = (),
    view: View = whole,
    show: Show | None = None,
    wire: Wire = EVENTS,
    ends_with_log: bool = False,
) -> None:
    """Send the pieces of ``opening`` (whole frames), then ``view`` of ``frames`` until they end.

    ``ends_with_log``: the first log's end is also that of the stream, so both are one message.
    ``show`` makes the view of a batch, off the loop if need be; the stored log needs none.
    Raises TimeoutError if a reader takes longer than ``stall`` seconds to accept a frame.
    """
    pieces = iter(opening)
    await piece(send, wire.greeting + next(pieces, b""), stall)
    for each in pieces:
        await piece(send, each, stall)
    async for batch in frames:
        if batch is None:
            await piece(send, wire.heartbeat, stall)
        else:
            body = view(batch) if show is None or view is whole else await show(view, batch)
            over = batch.final and ends_with_log
            await piece(send, body, stall, more=not over)
            if over:
                return
            del body
        del batch  # A stalled reader must not keep two pages alive.
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def refuse(send: Send, wire: Wire = EVENTS) -> None:
    """End a stream whose reader has lost access; a stalled one is simply cut."""
    with suppress(TimeoutError):
        await piece(send, wire.revoked, FAREWELL)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def reset(send: Send, error: HostError, wire: Wire = EVENTS) -> None:
    """End a stream whose reader has events that the database has lost."""
    with suppress(TimeoutError):
        await piece(send, wire.reset(error), FAREWELL, more=False)


async def piece(send: Send, body: bytes, stall: float, *, more: bool = True) -> None:
    """Send a part of the body. Raises TimeoutError after ``stall`` seconds."""
    async with asyncio.timeout(stall):
        await send({"type": "http.response.body", "body": body, "more_body": more})


async def until_disconnect(
    receive: Receive, kind: str, *, answer: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Return with the message of that kind; ``answer`` is called for each other one."""
    while (await receive())["type"] != kind:
        if answer is not None:
            await answer()


async def beside(
    sending: Awaitable[None], leaving: Awaitable[None], refused: Awaitable[None]
) -> bool:
    """Run ``sending`` until it ends, the peer leaves, or it loses access.

    True for the last of these. Leaving is not an error. The caller's task waits for it: a separate
    one for each open stream would take two kilobytes. ``sending`` has its own, since each event
    would otherwise wake the dozen ASGI apps around the stream.
    """
    waiter = cast("asyncio.Task[None]", asyncio.current_task())
    before = waiter.cancelling()
    sender, refusal = asyncio.ensure_future(sending), asyncio.ensure_future(refused)
    ended: list[asyncio.Future[None]] = []
    over = False

    def stop(task: asyncio.Future[None]) -> None:
        if over:
            return  # It ended in the same turn of the loop as ``leaving``.
        if not ended:
            waiter.cancel()
        ended.append(task)

    for task in (sender, refusal):
        task.add_done_callback(stop)
    left = False
    try:
        with suppress(Exception):
            await leaving
        left = True
    except asyncio.CancelledError:
        if not ended or waiter.cancelling() > before + 1:
            raise  # The caller is cancelled as well, or instead.
    finally:
        over = True
        if ended:
            waiter.uncancel()
        for task in (sender, refusal):
            task.cancel()
        await asyncio.gather(sender, refusal, return_exceptions=True)
    for task in (sender, refusal):
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
    return not left and ended == [refusal]
