"""People's pages. A view validates, asks ``access``, renders; the rest is the public API's."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from agui_project.errors import NotFound
from dashboard import listing
from dashboard.pages import page
from runs.access import access
from runs.models import Level, Status
from runtimes.models import Agent
from teams.authentication import Principal


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The root leads to the runs."""
    return redirect("runs")


@require_safe
def with_slash(request: HttpRequest, **kwargs: object) -> HttpResponsePermanentRedirect:
    """Redirect to the page's URL, which ends in a slash."""
    query = f"?{request.GET.urlencode()}" if request.GET else ""
    return HttpResponsePermanentRedirect(f"{request.path}/{query}")


@require_safe
def run_of_events(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Alpine's event stream, opened as a page: redirect to the run's page."""
    return redirect("run", run_id)


@page
def runs(request: HttpRequest, principal: Principal) -> HttpResponse:
    runs_qs, run_filter = listing.matching(principal, request.GET)
    page = listing.page(runs_qs, request.GET)
    agents = list(Agent.objects.for_team(principal.team).defer("settings", "description"))
    context = {
        "principal": principal,
        "page": page,
        "filters": listing.filters_of(request.GET),
        "problems": run_filter.errors,
        "statuses": Status.choices,
        "chosen": set(request.GET.getlist("status")),
        "agents": agents,
        "startable": [agent for agent in agents if agent.enabled],
        "host": f"{request.scheme}://{request.get_host()}",
    }
    return render(request, "runs/list.html", context)


@page
def pulse(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The changes of an open list: how many runs are new, and the active rows as they are now."""
    changed = listing.outdated(principal, request.GET.getlist("active"))
    seen, new = request.GET.get("seen", "0"), 0
    if "newest" in request.GET:
        runs_qs, _ = listing.matching(principal, request.GET)
        new = listing.count_newer(runs_qs, request.GET["newest"])
    if not changed and str(new) == seen:
        return HttpResponse(status=204)
    context = {
        "new": new,
        "most": listing.MOST_NEW,
        "filters": listing.filters_of(request.GET),
        "runs": changed,
    }
    return render(request, "runs/pulse.html", context)


@page
def run(request: HttpRequest, principal: Principal, run_id: UUID) -> HttpResponse:
    """One run; its events come through the public stream."""
    run_row = access.find(principal, run_id)
    context = {
        "principal": principal,
        "run": run_row,
        "active": listing.is_active(run_row),
        "may_cancel": access.may(principal, "cancel", run_row),
        "may_share": access.may(principal, "share", run_row),
        "levels": Level.choices,
    }
    return render(request, "runs/run.html", context)


@page
def run_input(request: HttpRequest, principal: Principal, run_id: UUID) -> HttpResponse:
    """The stored RunAgentInput, for a run whose log does not show it (yet)."""
    run_row = access.find(principal, run_id)
    if not access.sees_thread(principal, run_row):
        raise NotFound("The input may contain the thread's history, which was not shared with you.")
    return HttpResponse(run_row.input, content_type="application/json")
