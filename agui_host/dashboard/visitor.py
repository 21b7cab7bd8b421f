"""The data in the frame of every page: the visitor, and the teams they can switch to."""

from functools import cache, partial
from typing import Any

from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from agui_host.backends.postgres import scope
from agui_host.backends.postgres.compiled import Compiled
from agui_host.dashboard.account import zone
from agui_host.dashboard.account.adapters import may_sign_up
from agui_host.protocol.errors import HostError
from agui_host.teams import actors, authentication
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Membership, Team
from runs.access import inbox

KNOWN = "known_principal"
"""The attribute of a request where a page leaves the principal it has resolved."""


def visitor(request: HttpRequest) -> dict[str, Any]:
    """A context processor. It does not query the database before a template needs it."""
    principal = SimpleLazyObject(lambda: _principal(request))
    return {
        "principal": principal,
        "my_teams": SimpleLazyObject(lambda: _teams(principal)),
        "open_questions": cache(partial(_open_questions, principal)),
        "prefers_utc": zone.prefers_utc(request),
        "browser_zone": SimpleLazyObject(lambda: zone.of_browser(request).key),
        "may_sign_up": SimpleLazyObject(lambda: may_sign_up(request)),
    }


def _principal(request: HttpRequest) -> Principal | None:
    known: Principal | None = getattr(request, KNOWN, None)
    if known is not None:
        return known
    # Error pages also have the frame, and are shown while the database is away.
    try:
        return authentication.resolve({}, request.COOKIES)
    except (HostError, DatabaseError, InterfaceError):
        return None


def _open_questions(principal: Any) -> int:
    # Error pages are shown while the database is away.
    try:
        return inbox.count(principal) if principal else 0
    except (HostError, DatabaseError, InterfaceError):
        return 0


def _teams(principal: Any) -> list[Team]:
    if not principal:
        return []
    with scope.everywhere():
        return list(_teams_of_person().rows(principal.user_id))


@cache
def _teams_of_person() -> Compiled[Team]:
    mine = Membership.objects.of_one_person()
    rows = Team.objects.filter(archived_at=None).order_by("name")
    return Compiled(
        lambda user: rows.filter(pk__in=mine.filter(user=user).values("team")), actors.NOBODY
    )
