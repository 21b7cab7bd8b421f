"""Authenticates readers of runs: by header, by cookie, or by a ticket in the address."""

from backends.postgres.bridge import db
from teams import authentication
from teams.access import tickets
from teams.authentication import Principal
from web.asgi_http import Request


async def reader(request: Request, *, again: bool) -> Principal:
    """The principal. Precedence: Authorization header, then ticket, then cookie.

    ``again``: the request has a cursor, so its reader is coming back.
    """
    ticket = request.query.get("ticket")
    if ticket is None or "authorization" in request.headers:
        return await db(authentication.resolve, request.headers, request.cookies)
    return await db(tickets.redeem, ticket, request.kwargs["run_id"], again=again)


async def program(request: Request) -> Principal:
    """The caller of the socket for everything; the same precedence."""
    ticket = request.query.get("ticket")
    if ticket is None or "authorization" in request.headers:
        return await db(authentication.resolve, request.headers, request.cookies)
    return await db(tickets.redeem_for_socket, ticket)


def refuse_foreign_page(principal: Principal, request: Request, *, json_body: bool) -> None:
    """A cookie alone is not enough to do something: the page must be one of ours."""
    authentication.guard_cookie(
        principal,
        request.headers,
        host=request.headers.get("host", ""),
        scheme=request.scheme,
        json_body=json_body,
    )
