"""NUL in an address: refused once, for every route.

Postgres stores no NUL in a text, so each filter and each name in a path would have to refuse it,
and one that forgets would answer 500. ``strict_json`` checks JSON bodies.
"""

from agui_project.cors import App, Receive, Scope, Send
from protocol.errors import BadRequest
from web.asgi_http import refuse


class RefuseNul:
    """ASGI middleware: 400 (a socket: 4400) for an address that contains NUL, escaped or not."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _holds_nul(scope):
            return await self.app(scope, receive, send)
        await refuse(scope, receive, send, BadRequest("An address must not contain NUL (%00)."))


def _holds_nul(scope: Scope) -> bool:
    query = scope.get("query_string", b"")
    return "\0" in scope["path"] or b"%00" in query or b"\0" in query
