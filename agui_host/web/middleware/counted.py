"""Counts each HTTP answer by its route and status."""

from collections.abc import MutableMapping
from typing import Any

from agui_host.backends import metrics
from agui_host.web.addresses.router import Router
from agui_host.web.scope import App, Receive, Scope, Send
from agui_host.web.tracing.traced import PROBES, route_of

OTHER = "other"
"""The route of an address that leads nowhere: clients choose those."""


class Counted:
    """ASGI middleware: the outermost that sees the begin of each answer."""

    def __init__(self, app: App, router: Router) -> None:
        self.app, self._router = app, router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def counting(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                metrics.http_requests.labels(self._route(scope), str(message["status"])).inc()
            await send(message)

        await self.app(scope, receive, counting)

    def _route(self, scope: Scope) -> str:
        path: str = scope["path"]
        return path if path in PROBES else route_of(self._router, scope) or OTHER
