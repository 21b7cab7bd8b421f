"""The addresses that this host has, as patterns, and how one is filled in."""

import re
from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver

from agui_host.web import routing


def django_routes(resolver: URLResolver, prefix: str = "") -> Iterator[str]:
    """Every pattern below a resolver, written as in the URLconf."""
    for pattern in resolver.url_patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from django_routes(pattern, route)
        else:
            yield route


def asgi_routes(router: Any) -> Iterator[str]:
    """Every pattern of a Channels router."""
    for pattern in router.routes:
        assert isinstance(pattern, URLPattern)
        yield str(pattern.pattern)


def http_router() -> Any:
    return routing.http(lambda scope, receive, send: None)


def filled(route: str, value: object) -> str:
    """An address of a pattern whose parameters are all ``value``."""
    return re.sub(r"<(?:\w+:)?\w+>|\^?\(\?P<url>\.\*\)\$", str(value), route)
