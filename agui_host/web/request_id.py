"""An id for every request, its sender's address, and headers that answers would lack.

The outermost middleware: ``RequestId(Cors(app))``, so that preflights and refusals carry the id.
"""

import os
import re
from collections.abc import MutableMapping
from typing import Any

from django.conf import settings
from structlog.contextvars import bound_contextvars

from agui_host.security.requester import ADDRESS
from agui_host.web.scope import App, RawHeaders, Receive, Scope, Send, headers_of, scheme_of

SANE = re.compile(r"[A-Za-z0-9._-]{1,64}")
# Pages have their own policy (settings); an answer without one is not a page.
SECURITY: RawHeaders = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]


def request_id_of(scope: Scope) -> str:
    """The client's X-Request-ID if it is sane (it ends up in logs and headers), else a new one."""
    value = headers_of(scope).get("x-request-id", "")
    return value if SANE.fullmatch(value) else os.urandom(16).hex()


def address_of(scope: Scope) -> str:
    """The client's address; with AGUI_TRUSTED_PROXIES = n, as the nth proxy from here saw it.

    A client can write X-Forwarded-For itself, so only the last n entries count.
    """
    direct = (scope.get("client") or ("",))[0] or ""
    trusted = settings.AGUI_TRUSTED_PROXIES
    hops = [part.strip() for part in headers_of(scope).get("x-forwarded-for", "").split(",")]
    return hops[-trusted] if 0 < trusted <= len(hops) and hops[-trusted] else direct


class RequestId:
    """ASGI middleware: binds ``request_id`` for the logs and puts it on every HTTP answer.

    Sets ``ADDRESS`` for everything done on behalf of the request.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        request_id = request_id_of(scope)
        own = [*SECURITY, *_transport_security(scope)]

        async def named(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = message.get("headers", ())
                message = {**message, "headers": _merged(headers, own, request_id)}
            await send(message)

        ADDRESS.set(address_of(scope))
        with bound_contextvars(request_id=request_id):
            await self.app(scope, receive, named)


def _transport_security(scope: Scope) -> RawHeaders:
    # The header that Django's middleware sets on pages, for answers that bypass it.
    if not settings.SECURE_HSTS_SECONDS or scheme_of(scope) != "https":
        return []
    return [(b"strict-transport-security", b"max-age=%d" % settings.SECURE_HSTS_SECONDS)]


def _merged(headers: Any, own: RawHeaders, request_id: str) -> RawHeaders:
    names = {name.lower() for name, _ in headers}
    others = [(name, value) for name, value in headers if name.lower() != b"x-request-id"]
    missing = [header for header in own if header[0] not in names]
    return [*others, *missing, (b"x-request-id", request_id.encode())]
