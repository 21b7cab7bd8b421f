"""The gate as ASGI middleware, in front of Django and of the consumers alike."""

import asyncio
import re
from collections import deque
from typing import Any
from weakref import WeakKeyDictionary

import structlog
from django.conf import settings

from agui_project.errors import Overloaded
from agui_project.logs import sparingly
from backends import metrics
from backends.postgres.scope import limited
from security import requester
from web.asgi_http import GATE, SLOT, refuse
from web.callers import Callers, is_team, of_team
from web.gate import START, Gate
from web.outermost import EXCHANGE, Exchange
from web.scope import App, Receive, Scope, Send, headers_of

log = structlog.get_logger(__name__)

PROBES = ("/ready", "/metrics")
PROBE_SLOTS = 2
STARTS = re.compile(r"(|(/api)?/agui\b.*|/api/chat/.*|/v1/.*|/a2a\b.*|/mcp|/api/v1/runs)$")
"""Where runs are started, by the protocols' addresses, without a slash at their end."""
STOPS = re.compile(r"/stop$|/agent/[^/]+/stop/|[/:]cancel$")
"""Below the same addresses: who stops a run does not wait behind those who start some."""


class Gated:
    """ASGI middleware: the app gets a request with a slot, or it is refused: 503, or 4412."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._callers = Callers()
        self._gates: WeakKeyDictionary[Any, tuple[Gate, Gate]] = WeakKeyDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind, gate = _kind(scope), self._gate(scope["path"])
        try:
            name = self._callers.name(scope)
            slot = await gate.enter(name, kind, known=is_team(name))
        except Overloaded as error:
            metrics.refusals.labels(kind).inc()
            sparingly(log.warning, "request.refused", kind=kind, path=scope["path"])
            return await refuse(scope, receive, send, error)
        caller = requester.expect()
        slot.identify = lambda: of_team(caller.team) if caller.team else None
        exchange: Exchange = scope.get(EXCHANGE) or Exchange(receive, send)

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                slot.release()
                self._callers.remember(scope, caller)
            await send(message)

        try:
            with limited():
                scope[SLOT], scope[GATE] = slot, gate
                await self.app(scope, receive, sending)
        finally:
            exchange.at_end(slot.close)

    def _gate(self, path: str) -> Gate:
        loop = asyncio.get_running_loop()
        if loop not in self._gates:
            self._gates[loop] = (
                Gate(
                    settings.AGUI_REQUEST_SLOTS,
                    settings.AGUI_START_SLOTS,
                    settings.AGUI_START_REST,
                ),
                Gate(PROBE_SLOTS),
            )
        return self._gates[loop][path in PROBES]


class Whole:
    """ASGI middleware for Django: an answer is sent once all of it is there.

    Django gives its connection back after the last byte, so a slow client would hold one.
    """

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        messages: deque[Any] = deque()

        async def collect(message: Any) -> None:
            messages.append(message)

        await self.app(scope, receive, collect)
        while messages:
            await send(messages.popleft())


def _kind(scope: Scope) -> str:
    if scope["type"] == "websocket":
        return "join"
    if scope["method"] not in ("GET", "HEAD", "OPTIONS"):
        path = scope["path"].rstrip("/")
        if path.endswith("/connect"):
            return "join"  # A reloaded front end reads its thread by POST.
        return START if STARTS.match(path) and not STOPS.search(path) else "write"
    return "join" if "text/event-stream" in headers_of(scope).get("accept", "") else "read"
