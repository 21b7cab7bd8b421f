"""The common part of all sockets: accept, serve, and close with a code for the reason."""

from collections.abc import Awaitable, Callable

from agui_host.errors import Forbidden
from agui_host.protocol.errors import HostError
from agui_host.web import websocket
from agui_host.web.answers import as_host_error, log_failure
from agui_host.web.asgi_http import Request
from agui_host.web.scope import App, Receive, Scope, Send, host_allowed

Serve = Callable[[Request, Send], Awaitable[websocket.Close | None]]


def socket(*, subprotocol: str | None = None, accepts: bool = True) -> Callable[[Serve], App]:
    """An ASGI app from a function that serves one socket and returns its close code, if any.

    Refusals are accepted first: browsers see no HTTP status. ``subprotocol`` is agreed on if the
    client offers it. Without ``accepts`` the function accepts; a socket that it refuses before
    never opens.
    """

    def decorate(serve: Serve) -> App:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if (await receive())["type"] != "websocket.connect":
                return
            offered = subprotocol in scope.get("subprotocols", ())
            if accepts:
                await send(
                    {"type": "websocket.accept", "subprotocol": subprotocol if offered else None}
                )
            try:
                request = Request(scope, receive)
                if not host_allowed(request.headers):
                    raise Forbidden
                code = await serve(request, send)
            except HostError as error:
                await _close(send, error.close, error.code)
            except Exception as error:
                ours = as_host_error(error)
                log_failure(error, ours, path=scope["path"])
                await _close(send, ours.close, ours.code)
            else:
                if code is not None:
                    await _close(send, code, code.name.lower())

        return app

    return decorate


async def _close(send: Send, code: int, reason: str) -> None:
    await send({"type": "websocket.close", "code": int(code), "reason": reason})
