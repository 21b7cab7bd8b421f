"""The pages of the team's shares, and of grants that the visitor or the team receives."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agui_host.dashboard.pages import Question, action, page
from agui_host.teams.authentication import Principal
from runs.access import access, sharing
from runs.models.grant import live

MOST = 200


@page
def grants(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The grants that give access now, newest first."""
    rows = list(sharing.managed(principal).filter(live())[:MOST]) if principal.can("share") else []
    runs = access.visible(principal).filter(pk__in=[row.run_id for row in rows])
    threads = access.visible_threads(principal).filter(pk__in=[row.thread_id for row in rows])
    visible = {*runs.values_list("pk", flat=True), *threads.values_list("pk", flat=True)}
    context = {
        "grants": [(row, (row.run_id or row.thread_id) in visible) for row in rows],
        "everything": principal.can("manage_grants"),
    }
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
