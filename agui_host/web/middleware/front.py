"""The first checks of every request and socket, and the last changes to every answer's head.

Each rule has its home in a module next to this one; their order is here. Streams are served by ASGI
consumers, which no Django middleware guards.
"""

from collections.abc import MutableMapping
from typing import Any

from structlog.contextvars import bound_contextvars

from agui_host.security.requester import ADDRESS
from agui_host.web.addresses.router import Router
from agui_host.web.bodies import holds_nul, refuse_nul
from agui_host.web.middleware.cors import granted, is_preflight, preflight
from agui_host.web.middleware.counted import count
from agui_host.web.middleware.headers import is_bounded, refuse_headers
from agui_host.web.middleware.private_answers import private
from agui_host.web.request_id import address_of, completed, request_id_of
from agui_host.web.scope import App, Receive, Scope, Send


class Front:
    """ASGI middleware: passes sound requests on, and completes the head of each answer.

    Binds ``request_id`` for the logs, and sets ``ADDRESS`` for everything done on behalf of the
    request.
    """

    def __init__(self, app: App, router: Router) -> None:
        self.app, self._router = app, router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.app
        if not is_bounded(scope.get("headers", ())):
            # No app reads headers that were refused.
            scope, app = {**scope, "headers": []}, refuse_headers
        elif holds_nul(scope):
            app = refuse_nul
        elif is_preflight(scope):
            app = preflight
        request_id = request_id_of(scope)

        async def heading(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = granted(scope, private(list(message.get("headers", ()))))
                message = {**message, "headers": completed(scope, headers, request_id)}
                count(self._router, scope, message["status"])
            await send(message)

        ADDRESS.set(address_of(scope))
        with bound_contextvars(request_id=request_id):
            await app(scope, receive, heading)
