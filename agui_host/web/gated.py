"""The gate as ASGI middleware, in front of Django and of the consumers alike."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import structlog
from django.conf import settings

from agui_host.backends import metrics
from agui_host.backends.postgres import scope as reached
from agui_host.errors import Overloaded
from agui_host.logs import sparingly
from agui_host.security import requester
from agui_host.web.asgi_http import GATE, SLOT, refuse
from agui_host.web.callers import Callers, is_team, of_team
from agui_host.web.gate import Gate
from agui_host.web.outermost import EXCHANGE, Exchange
from agui_host.web.scope import App, Receive, Scope, Send

log = structlog.get_logger(__name__)

PROBES = ("/ready", "/metrics")
PROBE_SLOTS = 2


class Gated:
    """ASGI middleware: the app gets a request with a slot, or it is refused: 503, or 4412."""

    def __init__(self, app: App, kind_of: Callable[[Scope], str]) -> None:
        """``kind_of`` gives a request's kind, as its route declares it."""
        self.app = app
        self._kind_of = kind_of
        self._callers = Callers()
        self._gates: WeakKeyDictionary[Any, tuple[Gate, Gate]] = WeakKeyDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind, gate = self._kind_of(scope), self._gate(scope["path"])
        name = self._callers.name(scope)
        try:
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
            with reached.limited():
                reached.count_for(name)
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
    """ASGI middleware for Django: an answer is sent once all of it is there, else not at all.

    Django gives its connection back after the last byte, so a slow client would hold one. When the
    client leaves, Django stops in the middle and returns as usual; what the apps around keep of an
    answer would be half of it.
    """

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        messages: deque[Any] = deque()

        async def collect(message: Any) -> None:
            messages.append(message)

        await self.app(scope, receive, collect)
        if messages and _is_last(messages[-1]):
            while messages:
                await send(messages.popleft())


def _is_last(message: Any) -> bool:
    return message["type"] == "http.response.body" and not message.get("more_body")
