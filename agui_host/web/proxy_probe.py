"""A stream and a socket for the doctor: do events and sockets pass through the proxy in front?

Only a process with this host's SECRET_KEY can open them, since a stranger could hold connections.
"""

import asyncio
from urllib.parse import parse_qs, urlencode

from django.core.signing import BadSignature, TimestampSigner

from agui_host.web.scope import App, Receive, Scope, Send

PATH = "/health"
PARAMETER = "probe"
PAUSE = 1.0
"""Seconds between the two events of the stream: a proxy that buffers delivers both at once."""
EVENTS = (b"data: first\n\n", b"data: second\n\n")
HEADERS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
_signer = TimestampSigner(salt="agui.proxy_probe")
SECONDS = 60
"""How long an address of a probe is valid."""


def path() -> str:
    """The path of a probe, with its signature."""
    return f"{PATH}?{urlencode({PARAMETER: _signer.sign(PARAMETER)})}"


def is_asked(scope: Scope) -> bool:
    """Whether a request or socket is for the probe, and its sender has this host's key."""
    query = scope.get("query_string", b"")
    if scope["path"] != PATH or not query:
        return False
    values = parse_qs(query.decode("latin-1")).get(PARAMETER, [""])
    try:
        return bool(_signer.unsign(values[0], max_age=SECONDS) == PARAMETER)
    except BadSignature:
        return False


async def stream(send: Send) -> None:
    """Two events with a pause between them."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    for event in EVENTS:
        await send({"type": "http.response.body", "body": event, "more_body": True})
        await asyncio.sleep(PAUSE)
    await send({"type": "http.response.body", "body": b""})


class ProbedSockets:
    """ASGI middleware: accepts a probe's socket and closes it."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_asked(scope):
            return await self.app(scope, receive, send)
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.close", "code": 1000})
