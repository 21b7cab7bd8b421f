"""The addresses of a dialect with its own error shape: one mechanism for all of them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agui_host.errors import MethodNotAllowed, NotFound
from agui_host.protocol.errors import HostError
from agui_host.teams.authentication import Principal
from agui_host.web.asgi_http import Request, endpoint
from agui_host.web.consumers import arriving
from agui_host.web.scope import App, Send

Handle = Callable[[Request, Send, Principal], Awaitable[None]]
ErrorBody = Callable[[HostError], Any]


def resource(
    methods: Mapping[str, Handle],
    error_body: ErrorBody,
    *,
    refuse: Callable[[Request], None] | None = None,
) -> App:
    """An address by method; the caller is known before anything else is said.

    ``refuse`` raises for a request that this dialect does not answer.
    """

    async def handle(request: Request, send: Send) -> None:
        principal = await arriving.caller(request)
        method = str(request.scope["method"])
        if method not in methods:
            raise MethodNotAllowed
        if method != "GET":
            arriving.refuse_foreign_page(principal, request, json_body=method == "POST")
        if refuse is not None:
            refuse(request)
        await methods[method](request, send, principal)

    return endpoint(handle, error_body)


def nowhere(error_body: ErrorBody) -> App:
    """Every other address of a dialect: 404 in its shape."""

    async def handle(request: Request, send: Send) -> None:
        raise NotFound

    return endpoint(handle, error_body)
