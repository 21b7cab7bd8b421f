"""Request bodies, bounded once for every route: by size, by time, and over the whole process.

Django spools a body of any length to disk before a view can refuse it, and waits for the rest for
ever. So no app sees a request before its whole body has arrived, but for apps that store it piece
by piece.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from django.conf import settings

from agui_host.errors import Overloaded, RequestTimeout, TooLarge
from agui_host.protocol.errors import BadRequest, HostError
from agui_host.protocol.input.numbers import LARGEST, whole
from agui_host.security.requester import network_of
from agui_host.web.asgi_http import refuse
from agui_host.web.request_id import address_of
from agui_host.web.scope import App, Receive, Scope, Send, headers_of

CLOSE = {"Connection": "close"}
"""The rest of a refused body is not read, so the connection cannot carry another request."""
SHARE = 4
"""One address can use a quarter of the bytes: slow bodies of one client must not stop others'."""


class Bodies:
    """ASGI middleware: the app gets the body in one piece, or is not called.

    413 above ``AGUI_MAX_BODY_BYTES``, by Content-Length before a byte is read and by count for
    chunks; 408 after ``AGUI_BODY_TIMEOUT`` seconds; 503 if the process or the address already uses
    too much of ``AGUI_BODIES_MAX_BYTES``. A body counts until its answer begins.
    """

    def __init__(self, app: App, streamed: Callable[[Scope], bool] = lambda _: False) -> None:
        """``streamed``: requests whose app reads the body, and has its own bounds for it."""
        self.app = app
        self._streamed = streamed
        self._bytes = 0
        self._bytes_of: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._streamed(scope):
            return await self.app(scope, receive, send)
        body = _Body(network_of(address_of(scope)))
        try:
            refusal = await self._read(scope, receive, body)
            if refusal is not None:
                self._forget(body)
                return await refuse(scope, receive, send, refusal)
            await self._pass_on(body, scope, receive, send)
        finally:
            self._forget(body)

    async def _pass_on(self, body: "_Body", scope: Scope, receive: Receive, send: Send) -> None:
        messages = [body.message()]

        async def replay() -> Any:
            return messages.pop() if messages else await receive()

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._forget(body)
            await send(message)

        await self.app(scope, replay, sending)

    async def _read(self, scope: Scope, receive: Receive, body: "_Body") -> HostError | None:
        """Read all of the body; return the error if that fails."""
        if _declared(scope) > settings.AGUI_MAX_BODY_BYTES:
            return _too_large()
        try:
            async with asyncio.timeout(settings.AGUI_BODY_TIMEOUT):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return BadRequest("The request ended before its body did.")
                    if (refusal := self._take(body, message.get("body", b""))) is not None:
                        return refusal
                    if not message.get("more_body"):
                        return None
        except TimeoutError:
            return _too_late()

    def _take(self, body: "_Body", chunk: bytes) -> HostError | None:
        if body.size + len(chunk) > settings.AGUI_MAX_BODY_BYTES:
            return _too_large()
        most, size = settings.AGUI_BODIES_MAX_BYTES, len(chunk)
        if size and (
            self._bytes + size > most or self._bytes_of[body.address] + size > most // SHARE
        ):
            return Overloaded(headers=CLOSE)
        self._bytes += size
        self._bytes_of[body.address] += size
        body.add(chunk)
        return None

    def _forget(self, body: "_Body") -> None:
        self._bytes -= body.size
        self._bytes_of[body.address] -= body.size
        if not self._bytes_of[body.address]:
            del self._bytes_of[body.address]
        body.size = 0


class _Body:
    """A body that is being read; ``size`` is its charge until its answer begins."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.size = 0
        self._chunks: list[bytes] = []

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._chunks.append(chunk)

    def message(self) -> dict[str, Any]:
        """The whole body as the one message that the app gets; it is kept no longer here."""
        body, self._chunks = b"".join(self._chunks), []
        return {"type": "http.request", "body": body, "more_body": False}


def _declared(scope: Scope) -> int:
    text = headers_of(scope).get("content-length", "")
    return whole(text, 0, LARGEST) or 0


def _too_large() -> TooLarge:
    limit = settings.AGUI_MAX_BODY_BYTES
    message = f"The body is larger than {limit} bytes."
    return TooLarge(message, details={"limit": limit}, headers=CLOSE)


def _too_late() -> RequestTimeout:
    seconds = settings.AGUI_BODY_TIMEOUT
    message = f"The body did not arrive within {seconds:g} seconds."
    return RequestTimeout(message, details={"seconds": seconds}, headers=CLOSE)


def holds_nul(scope: Scope) -> bool:
    """Whether an address contains NUL, escaped or not.

    PostgreSQL stores no NUL in a text, so each filter and each name in a path would have to refuse
    it, and an omission would answer 500. ``strict_json`` checks JSON bodies.
    """
    query = scope.get("query_string", b"")
    return "\0" in scope["path"] or b"%00" in query or b"\0" in query


async def refuse_nul(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 400 (a socket: 4400)."""
    await refuse(scope, receive, send, BadRequest("An address must not contain NUL (%00)."))
