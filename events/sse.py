"""Server-sent events over raw ASGI: frames out, heartbeats in silence, bounded waits.

Knows no run and no user: it gets an async iterator of frames, a ``recheck`` callable and a
limit. Django's StreamingHttpResponse would hold a thread per open stream, and Channels'
AsyncHttpConsumer does not hear disconnects while it streams.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

from events import older
from events.frames import Frames

Message = dict[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
Recheck = Callable[[], Awaitable[bool]]
Header = tuple[bytes, bytes]
View = Callable[[Frames], bytes]
"""What a reader gets to see; the bytes are made once per batch and shared by all who see them."""

HEADERS: tuple[Header, ...] = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
)
RETRY = b"retry: 1000\n\n"
HEARTBEAT = b": heartbeat\n\n"
REVOKED = b": revoked\n\n"


def whole(frames: Frames) -> bytes:
    """The stored log, as a reader of AG-UI 1.0 gets it."""
    return frames.sse


def view(*, as_older: bool = False, raw: bool = True) -> View:
    """What a reader of AG-UI 0.x gets, whose form of the ending differs; the log without RAW."""

    def said(frames: Frames) -> bytes:
        body = frames.sse if raw else frames.rawless_sse
        return older.frames(body) if as_older and frames.final else body

    return said if as_older or not raw else whole


async def stream(
    send: Send,
    frames: AsyncIterator[Frames | None],
    *,
    headers: Iterable[Header],
    recheck: Recheck,
    every: float,
    stall: float,
    opening: bytes = b"",
    view: View = whole,
) -> None:
    """Answer 200, send ``opening`` (whole frames), then ``view`` of ``frames`` until they end.

    ``recheck`` is asked every ``every`` seconds whether this reader may go on. A reader that
    takes longer than ``stall`` seconds to accept a frame raises TimeoutError.
    """
    await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, *headers]})
    await _body(send, RETRY + opening, stall)
    recheck_at = time.monotonic() + every
    async for batch in frames:
        if time.monotonic() >= recheck_at:
            recheck_at = time.monotonic() + every
            if not await recheck():
                await _body(send, REVOKED, stall)
                break
        await _body(send, HEARTBEAT if batch is None else view(batch), stall)
        del batch  # a stalled reader must not keep two pages alive
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _body(send: Send, body: bytes, stall: float) -> None:
    async with asyncio.timeout(stall):
        await send({"type": "http.response.body", "body": body, "more_body": True})


async def until_disconnect(receive: Receive, *kinds: str) -> None:
    """Return when the peer has left."""
    while (await receive())["type"] not in kinds:
        pass


async def beside(sending: Awaitable[None], leaving: Awaitable[None]) -> None:
    """Run ``sending`` until it ends or the peer leaves; leaving is not an error."""
    sender = asyncio.ensure_future(sending)
    watcher = asyncio.ensure_future(leaving)
    try:
        await asyncio.wait({sender, watcher}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sender, watcher):
            task.cancel()
        await asyncio.gather(sender, watcher, return_exceptions=True)
    if not sender.cancelled() and (error := sender.exception()) is not None:
        raise error
