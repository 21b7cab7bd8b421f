"""CORS: which origins can read an answer from a page."""

from django.conf import settings

from agui_host.errors import Forbidden
from agui_host.protocol.strict_json import dumps
from agui_host.security.origins import is_listed
from agui_host.web.scope import RawHeaders, Receive, Scope, Send, headers_of, varying

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
    b"X-Vercel-AI-UI-Message-Stream, X-Workflow-Run-Id, X-Workflow-Stream-Tail-Index"
)
MAX_AGE = b"3600"


def is_preflight(scope: Scope) -> bool:
    """Whether a browser asks if a page of another origin can send a request."""
    if scope["type"] != "http" or scope["method"] != "OPTIONS":
        return False
    headers = headers_of(scope)
    return "origin" in headers and "access-control-request-method" in headers


def granted(scope: Scope, headers: RawHeaders) -> RawHeaders:
    """The headers of an answer, and the permission for a listed page to read it."""
    if (origin := headers_of(scope).get("origin")) is None or not (ours := _grants(origin)):
        return headers
    names = {name for name, _ in ours}
    theirs = [(name, value) for name, value in headers if name.lower() not in names]
    return varying([*theirs, *ours], "Origin")


def _grants(origin: str) -> RawHeaders:
    """The headers that let a page of this origin read the answer; none if it cannot."""
    listed = is_listed(origin)
    if not listed and "*" not in settings.AGUI_ALLOWED_ORIGINS:
        return []
    grants = [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", EXPOSED),
    ]
    return [*grants, (b"access-control-allow-credentials", b"true")] if listed else grants


async def preflight(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a preflight: which requests a page of this origin can send, or 403."""
    if _grants(headers_of(scope)["origin"]):
        body, status = b"", 204
        headers = [
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
