"""The least that an ASGI app can do: what the server itself costs, beside which the host stands."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

BODY = Path(os.environ["BARE_BODY"]).read_bytes()
ALIVE = b'{"status":"healthy","protocol":"AG-UI"}'
STREAM = b"text/event-stream"
Receive, Send = Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]


async def app(scope: Any, receive: Receive, send: Send) -> None:
    """``/health``; ``/body`` in one piece; ``/idle``, a stream or socket that says nothing more."""
    if scope["type"] == "lifespan":
        return
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": "{}"})
        await receive()
    elif scope["path"] == "/idle":
        await _begin(send, STREAM)
        await send({"type": "http.response.body", "body": b"data: {}\n\n", "more_body": True})
        await receive()
        await receive()
    elif scope["path"] == "/health":
        await _begin(send, b"application/json")
        await send({"type": "http.response.body", "body": ALIVE})
    else:
        await _begin(send, STREAM)
        await send({"type": "http.response.body", "body": BODY})


async def _begin(send: Send, kind: bytes) -> None:
    headers = [(b"content-type", kind)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
