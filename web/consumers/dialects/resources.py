"""The addresses of a dialect with an error shape of its own: one mechanism for all of them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agui_project.errors import MethodNotAllowed, NotFound
from protocol.errors import HostError
from teams.authentication import Principal
from web.asgi_http import Request, endpoint
from web.consumers import arriving
from web.scope import App, Send

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
