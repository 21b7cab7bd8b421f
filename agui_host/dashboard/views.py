"""People's pages. A view validates, asks ``access``, renders; the rest is the public API's."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_safe

from agui_host.backends.postgres.servers.replica import reading
from agui_host.dashboard import listing, run_page
from agui_host.dashboard.account import unsent, zone
from agui_host.dashboard.pages import action, page
from agui_host.dashboard.runs_list import columns, saved, sorting
from agui_host.errors import NotFound
from agui_host.protocol.errors import RunErrorCode
from agui_host.runtimes.models import Agent
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.api.listing import filters, search
from runs.models import Status

FIELDS = {"agent", "thread_id", "started_by", "since", "until", "error"}
"""The filters whose controls are folded away until one of them is used."""


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
def unsent_form(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The form that the visitor posted after the session had ended."""
    form = unsent.find(request)
    return unsent.page_with(request, form, signed_in=True) if form else redirect("home")


@page
@reading
def runs(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The list of the team's runs, filtered by the query, a page at a time."""
    matches = search.matching(principal, request.GET)
    page = listing.page(principal, matches)
    own = listing.filters_of(matches.query)
    agents = Agent.objects.for_team(principal.team).values_list("slug", "enabled", "is_default")
    startable = [slug for slug, enabled, _ in agents if enabled]
    usual = [slug for slug, enabled, is_default in agents if enabled and is_default]
    starter = next(iter(usual or startable), "")
    context = {
        "principal": principal,
        "page": page,
        "filters": own,
        "columns": columns.chosen(own),
        "sort": sorting.chosen(own),
        "sortable": sorting.ORDERS,
        "most_sorted": sorting.MOST,
        "every_column": columns.COLUMNS.values(),
        "saved": saved.shortcuts(principal, own),
        "histogram": listing.histogram_of(matches),
        "problems": matches.problems,
        "words": matches.words,
        "statuses": Status.choices,
        "chosen": set(matches.query.getlist("status")),
        "codes": [code.value for code in RunErrorCode],
        "times": filters.TIMES_IN_WORDS,
        "words_of_time": [value for value, _ in filters.TIMES_IN_WORDS],
        "others": listing.without_control(matches.query),
        "agents": [slug for slug, *_ in agents],
        "startable": startable,
        "starter": starter if principal.can("run") else "",
        "narrowed": bool(set(own) & FIELDS),
        "host": f"{request.scheme}://{request.get_host()}",
    }
    return render(request, "runs/list.html", context)


@page
@reading
def pulse(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The changes of an open list: how many runs are new, and the active rows as they are now."""
    changed = listing.outdated(principal, request.GET.getlist("active"), request.GET)
    known, new = request.GET.get("seen", "0"), 0
    if "newest" in request.GET:
        new = listing.count_newer(
            search.matching(principal, request.GET).runs, request.GET["newest"]
        )
    if not changed and str(new) == known:
        return HttpResponse(status=204)
    context = {
        "new": new,
        "most": listing.MOST_NEW,
        "filters": listing.filters_of(request.GET),
        "runs": changed,
        "principal": principal,
        "columns": columns.chosen(request.GET),
    }
    return render(request, "runs/pulse.html", context)


@action("home")
def clock(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Show times in UTC, or again in the zone of the visitor's browser."""
    back = request.POST.get("next", "")
    inside = url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    answer = redirect(back if inside else "home")
    zone.keep(answer, request, request.POST.get("clock", ""))
    return answer


@page
def run(request: HttpRequest, principal: Principal, run_id: UUID) -> HttpResponse:
    """One run."""
    return run_page.show(request, principal, access.find(principal, run_id))


@page
def run_input(request: HttpRequest, principal: Principal, run_id: UUID) -> HttpResponse:
    """The stored RunAgentInput, for a run whose log does not show it (yet)."""
    run_row = access.find(principal, run_id)
    if not access.sees_thread(principal, run_row):
        raise NotFound("The input can contain the thread's history, which was not shared with you.")
    return HttpResponse(run_row.input, content_type="application/json")
