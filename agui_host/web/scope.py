"""An ASGI scope: its types, its headers, and the scheme and host that its client named."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, cast

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from agui_host.security.origins import as_http

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
RawHeaders = list[tuple[bytes, bytes]]

HEADERS = "agui.headers"
"""Where a scope keeps its headers once they were read."""
DEBUG_HOSTS = [".localhost", "127.0.0.1", "[::1]"]


def headers_of(scope: Scope) -> dict[str, str]:
    """The headers of an ASGI scope under lower-case names, which callers must not change.

    A repeated header is joined, so that a smuggled second Origin or Authorization matches nothing.
    Each middleware asks for them, so the scope keeps them.
    """
    if (known := scope.get(HEADERS)) is not None:
        return cast("dict[str, str]", known)
    values: dict[str, list[str]] = {}
    for raw_name, raw_value in scope.get("headers", ()):
        name = raw_name.decode("latin-1").lower()
        values.setdefault(name, []).append(raw_value.decode("latin-1"))
    headers = {
        name: ("; " if name == "cookie" else ", ").join(parts) for name, parts in values.items()
    }
    scope[HEADERS] = headers
    return headers


def varying(headers: RawHeaders, *names: str) -> RawHeaders:
    """The headers of an answer with one ``Vary`` that includes these names."""
    vary = [value for name, value in headers if name.lower() == b"vary"]
    known = {part.strip().lower() for part in b",".join(vary).split(b",")}
    if b"*" not in known:
        vary += [name.encode() for name in names if name.lower().encode() not in known]
    others = [(name, value) for name, value in headers if name.lower() != b"vary"]
    return [*others, (b"vary", b", ".join(vary))]


def scheme_of(scope: Scope) -> str:
    """``http`` or ``https`` as the client sees it; trusts SECURE_PROXY_SSL_HEADER, if set."""
    if settings.SECURE_PROXY_SSL_HEADER:
        name, secure = settings.SECURE_PROXY_SSL_HEADER
        scheme = headers_of(scope).get(name.removeprefix("HTTP_").replace("_", "-").lower())
        if scheme is not None:
            return "https" if scheme.split(",")[0].strip() == secure else "http"
    return as_http(str(scope.get("scheme", "http")))


def host_allowed(headers: Mapping[str, str]) -> bool:
    """Whether the Host header names this site, by the rule of Django's ``get_host``."""
    domain, _ = split_domain_port(headers.get("host", ""))
    allowed = settings.ALLOWED_HOSTS or (DEBUG_HOSTS if settings.DEBUG else [])
    return bool(domain) and validate_host(domain, allowed)
