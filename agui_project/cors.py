"""Origins: who may read an answer from a page (CORS), and from where a cookie counts.

Streams are served by ASGI consumers, which no Django middleware guards, so the rules stand here
once for every route: ``Cors`` wraps the application, and whoever accepts a session cookie for
more than reading asks ``check_origin`` and ``is_json``.
"""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from agui_project.errors import Forbidden
from protocol.strict_json import dumps

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
RawHeaders = list[tuple[bytes, bytes]]

METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
HEADERS = (
    b"Accept, Authorization, Cache-Control, Content-Type, Idempotency-Key, Last-Event-ID, "
    b"X-Request-ID"
)
EXPOSED = b"Content-Location, X-Request-ID, Retry-After"
MAX_AGE = b"3600"
DEBUG_HOSTS = [".localhost", "127.0.0.1", "[::1]"]


def headers_of(scope: Scope) -> dict[str, str]:
    """The headers of an ASGI scope under lower-case names.

    A repeated header is joined, so that a smuggled second Origin or Authorization matches nothing.
    """
    found: dict[str, str] = {}
    for raw_name, raw_value in scope.get("headers", ()):
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        glue = "; " if name == "cookie" else ", "
        found[name] = f"{found[name]}{glue}{value}" if name in found else value
    return found


def scheme_of(scope: Scope) -> str:
    """``http`` or ``https`` as the client sees it; believes SECURE_PROXY_SSL_HEADER, if set."""
    if settings.SECURE_PROXY_SSL_HEADER:
        name, secure = settings.SECURE_PROXY_SSL_HEADER
        sent = headers_of(scope).get(name.removeprefix("HTTP_").replace("_", "-").lower())
        if sent is not None:
            return "https" if sent.split(",")[0].strip() == secure else "http"
    return _as_http(str(scope.get("scheme", "http")))


def host_allowed(headers: Mapping[str, str]) -> bool:
    """Whether the Host header names this site, by the rule of Django's ``get_host``."""
    domain, _ = split_domain_port(headers.get("host", ""))
    allowed = settings.ALLOWED_HOSTS or (DEBUG_HOSTS if settings.DEBUG else [])
    return bool(domain) and validate_host(domain, allowed)


def check_origin(headers: Mapping[str, str], *, host: str, scheme: str) -> bool:
    """Whether a session cookie may count for a POST or socket from this ``Origin``.

    It must be there, and be the site's own (``scheme://host``) or one that AGUI_ALLOWED_ORIGINS
    spells out. ``*`` there answers CORS but never lets a cookie pass.
    """
    origin = headers.get("origin", "").lower()
    own = f"{_as_http(scheme)}://{host}".lower()
    return bool(host) and (origin == own or is_listed(origin))


def is_json(headers: Mapping[str, str]) -> bool:
    """Whether the body is declared as JSON, which no HTML form can do."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def is_listed(origin: str) -> bool:
    """Whether AGUI_ALLOWED_ORIGINS spells this origin out.

    ``null`` never counts: every sandboxed frame and local file sends it.
    """
    listed = {entry.strip().rstrip("/").lower() for entry in settings.AGUI_ALLOWED_ORIGINS}
    return origin.lower() in listed - {"null", "*", ""}


def _as_http(scheme: str) -> str:
    """A page on ``https:`` opens its sockets as ``wss:``, but its Origin stays ``https:``."""
    return {"ws": "http", "wss": "https"}.get(scheme, scheme)


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
    """The headers that let a page of this origin read the answer; none when it may not."""
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


def _merged(sent: Any, granted: RawHeaders) -> RawHeaders:
    """The answer's headers with ours: one of each name, and one ``Vary`` that names Origin."""
    ours = {name for name, _ in granted} | {b"vary"}
    vary = [value for name, value in sent if name.lower() == b"vary"]
    if not any(b"origin" in value.lower() or b"*" in value for value in vary):
        vary.append(b"Origin")
    kept = [(name, value) for name, value in sent if name.lower() not in ours]
    return [*kept, *granted, (b"vary", b", ".join(vary))]
