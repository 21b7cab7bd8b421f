"""A span for each HTTP request, while traces are on (``agui_host/backends/tracing.py``)."""

import functools
import re
from collections.abc import MutableMapping
from typing import Any

from django.contrib.admindocs.views import simplify_regex
from django.urls import Resolver404, resolve

from agui_host.backends import tracing
from agui_host.web.addresses.router import Router
from agui_host.web.scope import App, Receive, Scope, Send, headers_of, scheme_of

PROBES = ("/health", "/ready", "/metrics")
METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
CONVERTER = re.compile(r"<\w+:")
OPTIONAL = re.compile(r"\(\?:[^()]*\)\?|/\?|\.\+")


def traced(app: App, router: Router) -> App:
    """The app itself while traces are off."""
    return app if tracing.tracer() is None else Traced(app, router)


class Traced:
    """ASGI middleware: a server's span from a request's arrival until its answer begins.

    An answer can be a stream of hours; the worker's part has its own spans.
    """

    def __init__(self, app: App, router: Router) -> None:
        self.app, self._router = app, router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tracer = tracing.tracer()
        if tracer is None or scope["path"] in PROBES:
            return await self.app(scope, receive, send)
        from opentelemetry.trace import SpanKind, Status, StatusCode, use_span

        headers = headers_of(scope)
        route = route_of(self._router, scope)
        above = tracing.context_of(headers.get("traceparent"), headers.get("tracestate"))
        method = scope["method"] if scope["method"] in METHODS else "_OTHER"
        attributes = {"http.request.method": method, "url.scheme": scheme_of(scope)}
        span = tracer.start_span(
            f"{method} {route}".rstrip(),
            above,
            SpanKind.SERVER,
            attributes | ({"http.route": route} if route else {}),
        )

        async def ending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                span.set_attribute("http.response.status_code", message["status"])
                if message["status"] >= 500:
                    span.set_status(Status(StatusCode.ERROR))
                span.end()
            await send(message)

        try:
            with use_span(span, record_exception=False, set_status_on_exception=False):
                await self.app(scope, receive, ending)
        finally:
            if span.is_recording():
                span.end()


def route_of(router: Router, scope: Scope) -> str:
    """The pattern of the address, never the address itself: some contain a secret.

    Empty if the address leads nowhere.
    """
    if pattern := router.match(scope).pattern:
        return _readable(pattern)
    try:
        return _readable(resolve(scope["path"]).route)
    except Resolver404:
        return ""


@functools.lru_cache(1_000)
def _readable(pattern: str) -> str:
    return CONVERTER.sub("<", simplify_regex(OPTIONAL.sub("", pattern)))
