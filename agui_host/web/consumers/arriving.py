"""The reader of a run, and the position to read it from: header, cookie or ticket, and cursor."""

from typing import NamedTuple

from agui_host.backends.postgres.bridge import db
from agui_host.teams import authentication
from agui_host.teams.access import tickets
from agui_host.teams.authentication import Principal
from agui_host.web.asgi_http import Request
from runs.access import access, cursors
from runs.models import Run


class Arrival(NamedTuple):
    """A reader, the run that it can read, and the position to read it from.

    ``returns``: the request has a cursor, so its reader has seen the events up to there.
    """

    principal: Principal
    run: Run
    after: int
    returns: bool

    @classmethod
    def at(cls, request: Request, principal: Principal, run: Run) -> "Arrival":
        """Where the request's cursor places its reader. Raises BadCursor, Purged."""
        cursor = cursors.from_request(request.headers, request.query)
        return cls(principal, run, cursors.place(run, cursor), cursor is not None)

    @property
    def has_all(self) -> bool:
        """Whether the run has ended and its reader has every event: 204 stops an EventSource."""
        return self.run.journal.closed_at is not None and self.after == self.run.journal.head


async def caller(request: Request) -> Principal:
    """The caller, by header or cookie. A key that was used a moment ago costs no thread."""
    if (recent := authentication.at_hand(request.headers)) is not None:
        return recent
    return await db(authentication.resolve, request.headers, request.cookies)


async def at_run(request: Request) -> Arrival:
    """The reader of the run that the address names. Raises as ``find`` and ``Arrival.at``."""
    principal = await reader(request, again="last-event-id" in request.headers)
    run = await db(access.find, principal, request.kwargs["run_id"])
    return Arrival.at(request, principal, run)


async def reader(request: Request, *, again: bool) -> Principal:
    """The principal. Precedence: Authorization header, then ticket, then cookie.

    ``again``: the request has a cursor, so its reader is coming back.
    """
    ticket = request.query.get("ticket")
    if ticket is None or "authorization" in request.headers:
        return await caller(request)
    return await db(tickets.redeem, ticket, request.kwargs["run_id"], again=again)


async def program(request: Request) -> Principal:
    """The caller of the socket for everything; the same precedence."""
    ticket = request.query.get("ticket")
    if ticket is None or "authorization" in request.headers:
        return await caller(request)
    return await db(tickets.redeem_for_socket, ticket)


def refuse_foreign_page(principal: Principal, request: Request, *, json_body: bool) -> None:
    """A cookie alone is not enough to do something: the page must be one of ours."""
    if principal.via_cookie:
        authentication.guard_cookie(
            request.headers,
            host=request.headers.get("host", ""),
            scheme=request.scheme,
            json_body=json_body,
        )
