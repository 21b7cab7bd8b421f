"""A name for every request, its sender's address, and headers that answers would lack.

The outermost middleware: ``RequestId(Cors(app))``, so that preflights and refusals carry the id.
"""

import re
import uuid
from collections.abc import MutableMapping
from contextvars import ContextVar
from typing import Any

from structlog.contextvars import bound_contextvars

from agui_project.cors import App, RawHeaders, Receive, Scope, Send, headers_of

SANE = re.compile(r"[A-Za-z0-9._-]{1,64}")
ADDRESS: ContextVar[str] = ContextVar("address", default="")
"""Where the request in hand came from; empty outside of one. Behind a proxy, the proxy's."""
SECURITY: RawHeaders = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
]


def request_id_of(scope: Scope) -> str:
    """The client's X-Request-ID if it is sane (it ends up in logs and headers), else a new one."""
    sent = headers_of(scope).get("x-request-id", "")
    return sent if SANE.fullmatch(sent) else uuid.uuid4().hex


class RequestId:
    """ASGI middleware: binds ``request_id`` for the logs and puts it on every HTTP answer.

    Sets ``ADDRESS`` for everything that is done on behalf of the request.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        request_id = request_id_of(scope)

        async def named(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": _merged(message.get("headers", ()), request_id)}
            await send(message)

        ADDRESS.set((scope.get("client") or ("",))[0] or "")
        with bound_contextvars(request_id=request_id):
            await self.app(scope, receive, named)


def _merged(sent: Any, request_id: str) -> RawHeaders:
    names = {name.lower() for name, _ in sent}
    kept = [(name, value) for name, value in sent if name.lower() != b"x-request-id"]
    missing = [header for header in SECURITY if header[0] not in names]
    return [*kept, *missing, (b"x-request-id", request_id.encode())]
