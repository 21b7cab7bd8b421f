"""The team or address that a request counts for before it is authenticated.

Only for fairness between callers at the gate. It never lets anybody in.
"""

import hashlib
from collections import OrderedDict
from uuid import UUID

from django.conf import settings
from django.http import parse_cookie

from agui_host.security.requester import Caller, network_of
from agui_host.web.request_id import address_of
from agui_host.web.scope import Scope, headers_of

REMEMBERED = 10_000


TEAM = "team:"


def of_team(team: UUID) -> str:
    """The gate's name of a team."""
    return f"{TEAM}{team}"


def is_team(caller: str) -> bool:
    """Whether the gate's name of a caller is a team's, and not an address."""
    return caller.startswith(TEAM)


class Callers:
    """The teams of the most recently used credentials."""

    def __init__(self) -> None:
        self._team_of: OrderedDict[str, UUID] = OrderedDict()

    def name(self, scope: Scope) -> str:
        """The credential's team, else the address: invented keys all share their address's part."""
        team = self._team_of.get(_digest(scope))
        return of_team(team) if team else f"address:{network_of(address_of(scope))}"

    def remember(self, scope: Scope, caller: Caller) -> None:
        """Store the request's caller by its credential."""
        if caller.team is None or not (digest := _digest(scope)):
            return
        self._team_of[digest] = caller.team
        self._team_of.move_to_end(digest)
        if len(self._team_of) > REMEMBERED:
            self._team_of.popitem(last=False)


def _digest(scope: Scope) -> str:
    headers = headers_of(scope)
    text = headers.get("authorization")
    if text is None:
        text = parse_cookie(headers.get("cookie", "")).get(settings.SESSION_COOKIE_NAME)
    return hashlib.sha256(text.encode()).hexdigest() if text else ""
