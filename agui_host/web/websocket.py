"""The same frames over a WebSocket: one bare event per text frame, then a close code."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from enum import IntEnum

from agui_host.web.scope import Send
from events.frames import Frames


class Close(IntEnum):
    """Why a socket was closed. Browsers see no HTTP status, so these are the answers."""

    FINISHED = 1000
    REVOKED = 4403
    TOO_SLOW = 4408


HEARTBEAT = '{"type":"ping"}'


def bare(batch: Frames) -> Sequence[str]:
    """The stored events."""
    return batch.texts


async def stream(
    send: Send,
    frames: AsyncIterator[Frames | None],
    *,
    stall: float,
    heartbeats: bool = False,
    texts: Callable[[Frames], Sequence[str]] = bare,
) -> Close:
    """Send ``frames`` until they end; the close code is the reason.

    Of ``bare`` events frame k (from 0) has ``seq`` cursor + 1 + k: nothing else is ever sent. When
    idle nothing is sent, since ASGI has no ping frames (ADR 0001), unless the reader wants
    ``heartbeats``, which it must not count.
    """
    async for batch in frames:
        if batch is None and not heartbeats:
            continue
        try:
            async with asyncio.timeout(stall):
                for text in (HEARTBEAT,) if batch is None else texts(batch):
                    await send({"type": "websocket.send", "text": text})
        except TimeoutError:
            return Close.TOO_SLOW
        del batch
    return Close.FINISHED
