"""The pages of the team's shares, and of grants that the visitor or the team receives."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agui_host.dashboard.pages import Question, action, page
from agui_host.teams.authentication import Principal
from runs.access import sharing
from runs.models.grant import live

MOST = 200


@page
def grants(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The grants that give access now, newest first."""
    rows = sharing.managed(principal).filter(live())[:MOST] if principal.can("share") else []
    context = {"grants": rows, "everything": principal.can("manage_grants"), "most": MOST}
    return render(request, "team/shared.html", context)


@page
def received(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The grants of others to the visitor or the team, newest first."""
    return render(request, "team/received.html", {"grants": sharing.received(principal)[:MOST]})


@action(
    "team-shared",
    asks=Question(
        "Revoke this share?",
        "The people whom it let in lose access at once. A link cannot be made valid again.",
        "Revoke",
    ),
)
def revoke(request: HttpRequest, principal: Principal, grant_id: UUID) -> HttpResponse:
    """Revoke one."""
    sharing.revoke(principal, grant_id)
    return redirect("team-shared")
