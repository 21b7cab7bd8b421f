"""CORS: which origins can read an answer from a page.

Streams are served by ASGI consumers, which no Django middleware guards, so the rule is here, once
for every route: ``Cors`` wraps the application.
"""

from collections.abc import MutableMapping
from typing import Any

from django.conf import settings

from agui_host.errors import Forbidden
from agui_host.protocol.strict_json import dumps
from agui_host.security.origins import is_listed
from agui_host.web.scope import App, RawHeaders, Receive, Scope, Send, headers_of, varying

METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
HEADERS = (
    b"A2A-Version, Accept, Authorization, Cache-Control, Content-Type, Idempotency-Key, "
    b"If-None-Match, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, "
    b"Producer-Epoch, Producer-Id, Producer-Seq, Stream-Closed, X-AGUI-User, X-Request-ID, X-Run-Id"
)
EXPOSED = (
    b"Content-Disposition, Content-Location, ETag, Location, Producer-Epoch, "
    b"Producer-Expected-Seq, Producer-Received-Seq, Producer-Seq, Retry-After, Stream-Closed, "
    b"Stream-Cursor, Stream-Next-Offset, Stream-Up-To-Date, WWW-Authenticate, "
    b"X-AG-UI-Capabilities, X-AG-UI-Schema, X-Request-ID, X-Should-Retry, "
    b"X-Vercel-AI-UI-Message-Stream, X-Workflow-Run-Id"
)
MAX_AGE = b"3600"


class Cors:
    """ASGI middleware: answers preflights and adds CORS headers, on every HTTP route."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = headers_of(scope) if scope["type"] == "http" else {}
        if "origin" not in headers:
            return await self.app(scope, receive, send)
        granted = _granted(headers["origin"])
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            return await _preflight(granted, send)
        await self.app(scope, receive, _adding(granted, send) if granted else send)


def _granted(origin: str) -> RawHeaders:
    """The headers that let a page of this origin read the answer; none if it cannot."""
    listed = is_listed(origin)
    if not listed and "*" not in settings.AGUI_ALLOWED_ORIGINS:
        return []
    granted = [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", EXPOSED),
    ]
    return [*granted, (b"access-control-allow-credentials", b"true")] if listed else granted


async def _preflight(granted: RawHeaders, send: Send) -> None:
    if granted:
        body, status = b"", 204
        headers = [
            *granted,
            (b"access-control-allow-methods", METHODS),
            (b"access-control-allow-headers", HEADERS),
            (b"access-control-max-age", MAX_AGE),
        ]
    else:
        error = Forbidden("This origin is not listed in AGUI_ALLOWED_ORIGINS.")
        body, status = dumps(error.as_json()).encode(), error.status
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ]
    headers.append((b"vary", b"Origin"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _adding(granted: RawHeaders, send: Send) -> Send:
    async def wrapped(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": _merged(message.get("headers", ()), granted)}
        await send(message)

    return wrapped


def _merged(headers: Any, granted: RawHeaders) -> RawHeaders:
    """The answer's headers with ours: one of each name, and one ``Vary`` that names Origin."""
    ours = {name for name, _ in granted}
    theirs = [(name, value) for name, value in headers if name.lower() not in ours]
    return varying([*theirs, *granted], "Origin")
