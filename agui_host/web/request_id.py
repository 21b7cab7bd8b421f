"""An id for every request, its sender's address, and headers that answers would lack."""

import os
import re

from django.conf import settings

from agui_host.web.scope import RawHeaders, Scope, headers_of, scheme_of

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


def completed(scope: Scope, headers: RawHeaders, request_id: str) -> RawHeaders:
    """The headers of an answer with this id, and with those of security that it lacks."""
    names = {name.lower() for name, _ in headers}
    others = [(name, value) for name, value in headers if name.lower() != b"x-request-id"]
    own = [*SECURITY, *_transport_security(scope)]
    missing = [header for header in own if header[0] not in names]
    return [*others, *missing, (b"x-request-id", request_id.encode())]


def _transport_security(scope: Scope) -> RawHeaders:
    # The header that Django's middleware sets on pages, for answers that bypass it.
    if not settings.SECURE_HSTS_SECONDS or scheme_of(scope) != "https":
        return []
    return [(b"strict-transport-security", b"max-age=%d" % settings.SECURE_HSTS_SECONDS)]
