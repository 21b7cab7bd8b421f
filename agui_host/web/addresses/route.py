"""A route outside of Django, with its kind, its callers and the way its body is read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agui_host.kinds import WRITE, Kind
from agui_host.web.scope import App, Scope

Callers = Literal["caller", "link", "ticket", "operator", "anyone"]
CALLER: Callers = "caller"
"""A key, a ticket or a session: without one the answer is 401."""
LINK: Callers = "link"
"""The token in the address is the credential."""
TICKET: Callers = "ticket"
"""A ticket that only this socket takes."""
OPERATOR: Callers = "operator"
"""The key of the host's metrics; 404 without it."""
ANYONE: Callers = "anyone"

Body = Literal["whole", "pieces"]
WHOLE: Body = "whole"
"""At most ``AGUI_MAX_BODY_BYTES``, read before the app is called."""
PIECES: Body = "pieces"
"""The app reads it piece by piece and bounds it itself."""

AGENT = r"^(?:api/)?agui/agent/(?P<slug>[-\w]+)"
"""The addresses of one agent in AG-UI, of which TanStack AI's client uses some as well."""


def is_any(scope: Scope) -> bool:
    return True


def is_post(scope: Scope) -> bool:
    return bool(scope["method"] == "POST")


def is_get(scope: Scope) -> bool:
    return bool(scope["method"] == "GET")


def wants_event_stream(scope: Scope) -> bool:
    accept = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return scope["method"] == "GET" and b"text/event-stream" in accept.lower()


@dataclass(frozen=True, kw_only=True)
class Route:
    """``address``: as Django's ``path``, or as ``re_path`` if it begins with ``^``.

    ``post``: the kind of a POST for the gate. ``when``: the requests that ``app`` answers; the next
    route of that address answers others, or Django.
    """

    address: str
    app: App
    post: Kind = WRITE
    when: Callable[[Scope], bool] = is_any
    callers: Callers = CALLER
    body: Body = WHOLE
