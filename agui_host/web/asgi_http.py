"""Raw ASGI over HTTP, as little as the streams need: a request, and answers that are JSON errors.

Requests that lead here bypass Django's middleware, so hosts and errors are handled here.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs

import structlog
from django.conf import settings
from django.http import parse_cookie

from agui_host.backends import epochs, metrics
from agui_host.protocol.errors import BadRequest, HostError
from agui_host.protocol.strict_json import dumps
from agui_host.web.answers import as_host_error, log_failure
from agui_host.web.outermost import EXCHANGE, Exchange
from agui_host.web.scope import App, Receive, Scope, Send, headers_of, host_allowed, scheme_of

SLOT = "agui.slot"
"""Where a scope holds the request's slot (``gated.py``)."""
GATE = "agui.gate"
"""Where it holds the gate, for a socket whose requests pass it one by one."""
log = structlog.get_logger(__name__)


class Request:
    """Headers (lower-case names), cookies, query and body of an ASGI HTTP or WebSocket scope."""

    def __init__(self, scope: Scope, receive: Receive, sending: "Sending | None" = None) -> None:
        self.scope = scope
        self.receive = receive
        self.since = epochs.latest
        """The database's epoch when it came."""
        self._sending = sending

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """The headers by lower-case name."""
        return headers_of(self.scope)

    @cached_property
    def cookies(self) -> Mapping[str, str]:
        """The cookies by name."""
        # As lenient as Django's pages: one odd cookie of another site must not hide ours.
        return parse_cookie(self.headers.get("cookie", ""))

    @cached_property
    def query(self) -> Mapping[str, str]:
        """The last value of each parameter."""
        parameters = parse_qs(self.scope.get("query_string", b"").decode("latin-1"), True)
        return {name: values[-1] for name, values in parameters.items()}

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments from the URL."""
        return self.scope["url_route"]["kwargs"]  # type: ignore[no-any-return]

    @property
    def scheme(self) -> str:
        """http or https, for sockets too."""
        return scheme_of(self.scope)

    @property
    def base(self) -> str:
        """This host's address: the operator's word, else how the caller reached it."""
        return settings.AGUI_PUBLIC_URL or f"{self.scheme}://{self.headers.get('host', '')}"

    def release(self) -> None:
        """Let the next request in: from here on this one only waits or sends."""
        if (slot := self.scope.get(SLOT)) is not None:
            slot.release()

    @asynccontextmanager
    async def admitted(self, caller: str, kind: str) -> AsyncIterator[None]:
        """A slot of the gate for one request of an open socket. Raises Overloaded."""
        slot = await self.scope[GATE].enter(caller, kind)
        try:
            yield
        finally:
            slot.close()

    @asynccontextmanager
    async def readmitted(self, caller: str, kind: str) -> AsyncIterator[None]:
        """A slot, for a request that has already released its own. Raises Overloaded."""
        slot = self.scope.get(SLOT)
        if slot is None or not slot.released:
            yield
            return
        async with self.admitted(caller, kind):
            yield

    def set_apart(self) -> None:
        """Let the apps around a stream return, and drop the client's input: kilobytes of each.

        From here on the handler sends past them: they have no more to say.
        """
        self.release()
        exchange: Exchange | None = self.scope.get(EXCHANGE)
        # The apps around the stream have their own dictionaries, with the same headers.
        self.scope["headers"].clear()
        headers_of(self.scope).clear()
        self.scope.clear()
        if exchange is not None and self._sending is not None:
            self.receive, self._sending.onward = exchange.receive, exchange.send
            exchange.set_apart()

    async def body(self) -> bytes:
        """The whole body, which ``Bodies`` has read and bounded before; can be taken once."""
        return bytes((await self.receive()).get("body", b""))


class Sending:
    """How a handler sends, and whether its answer has begun."""

    __slots__ = ("has_begun", "onward")

    def __init__(self, onward: Send) -> None:
        self.onward, self.has_begun = onward, False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        self.has_begun = self.has_begun or message["type"] == "http.response.start"
        await self.onward(message)


def endpoint(
    handle: Callable[[Request, Send], Awaitable[None]],
    body_of: Callable[[HostError], Any] = HostError.as_json,
    any_host: Callable[[Request], bool] = lambda request: False,
) -> App:
    """An ASGI app from a handler; a HostError before the first byte becomes its JSON answer.

    ``body_of`` gives the errors of a dialect their shape; ``any_host`` names the requests that can
    address this process by a name that is not one of the host's. The handler has its own task: a
    stream outlives the app (``outermost``).
    """

    async def handled(request: Request, send: Sending, path: str) -> None:
        try:
            if not (host_allowed(request.headers) or any_host(request)):
                raise BadRequest("This host is not configured to answer to that name.")
            await handle(request, send)
        except HostError as error:
            if send.has_begun:
                raise
            await answer_error(send, error, body_of)
        except Exception as error:
            if send.has_begun and isinstance(error, TimeoutError):
                metrics.stalls.inc()
                log.info("stream.too_slow", path=path)
                return
            ours = as_host_error(error)
            log_failure(error, ours, path=path)
            if send.has_begun:
                raise
            await answer_error(send, ours, body_of)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        exchange, sending = scope.get(EXCHANGE) or Exchange(receive, send), Sending(send)
        request = Request(scope, receive, sending)
        await exchange.run(handled(request, sending, scope["path"]))

    return app


async def answer(
    send: Send, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> None:
    """Send a whole answer."""
    pairs = {"content-length": str(len(body)), **(headers or {})}
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in pairs.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


async def answer_json(
    send: Send, status: int, value: Any, headers: Mapping[str, str] | None = None
) -> None:
    """Send a whole answer of JSON; ``value`` can be anything that JSON can express."""
    body = dumps(value).encode(errors="replace")
    await answer(send, status, body, {"content-type": "application/json", **(headers or {})})


async def answer_error(
    send: Send, error: HostError, body_of: Callable[[HostError], Any] = HostError.as_json
) -> None:
    """Send an error, in the shape of ``/api/v1`` or in that of a dialect."""
    await answer_json(send, error.status, body_of(error), error.headers)


async def refuse(scope: Scope, receive: Receive, send: Send, error: HostError) -> None:
    """Answer in place of the app: JSON, a line of text for pages, a close code for sockets."""
    if scope["type"] == "websocket":
        return await close_socket(receive, send, error)
    if "text/html" in headers_of(scope).get("accept", ""):
        text = {"content-type": "text/plain; charset=utf-8", **error.headers}
        return await answer(send, error.status, error.message.encode(), text)
    await answer_error(send, error)


async def close_socket(receive: Receive, send: Send, error: HostError) -> None:
    """Refuse a WebSocket. Browsers see no HTTP status, so it is accepted, then closed."""
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": error.close, "reason": error.code})
