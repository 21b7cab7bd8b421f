"""Saved views on the runs list: save its filters under a name, rename, remove. Forms."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse

from agui_host.dashboard import listing
from agui_host.dashboard.pages import Question, action
from agui_host.errors import Forbidden, NotFound
from agui_host.protocol.errors import HostError, Invalid
from agui_host.teams.authentication import Principal
from runs.access.inspect import saved_views
from runs.models import SavedView
from runs.models.saved_view import LONGEST_NAME, LONGEST_QUERY


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A view on the page of the list; ``is_open``: the page shows it."""

    view: SavedView
    is_open: bool
    may_change: bool


def shortcuts(principal: Principal, query: QueryDict) -> list[Shortcut]:
    """The views that the visitor has, by name; ``query`` is that of the page."""
    here = query.urlencode()
    rows = saved_views.visible(principal).order_by("name", "pk")
    return [
        Shortcut(row, row.query == here, saved_views.may_change(principal, row)) for row in rows
    ]


@action("runs")
def save(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Save the filters of the list under a name."""
    query = listing.filters_of(QueryDict(request.POST.get("query", ""))).urlencode()
    name, shared = request.POST.get("name", "").strip(), request.POST.get("shared") == "yes"
    try:
        _check(name, query)
        saved_views.create(principal, {"name": name, "query": query, "shared": shared})
        messages.success(request, f"The view {name} was saved.")
    except (NotFound, Forbidden):
        raise
    except HostError as error:
        messages.error(request, error.message)
    return _back(query)


@action("runs")
def rename(request: HttpRequest, principal: Principal, view_id: UUID) -> HttpResponse:
    """Give a view another name."""
    view = saved_views.find(principal, view_id)
    name = request.POST.get("name", "").strip()
    try:
        _check(name)
        saved_views.change(principal, view_id, {"name": name})
    except (NotFound, Forbidden):
        raise
    except HostError as error:
        messages.error(request, error.message)
    return _back(view.query)


@action(
    "runs",
    asks=Question(
        "Remove this view?",
        "A view of the team is removed for all members. The runs stay.",
        "Remove",
    ),
)
def remove(request: HttpRequest, principal: Principal, view_id: UUID) -> HttpResponse:
    """Remove a view; the list stays as it is."""
    view = saved_views.find(principal, view_id)
    saved_views.remove(principal, view_id)
    messages.success(request, f"The view {view.name} was removed.")
    return _back(view.query)


def _check(name: str, query: str = "") -> None:
    if not 0 < len(name) <= LONGEST_NAME:
        raise Invalid(f"A view needs a name of at most {LONGEST_NAME} characters.")
    if len(query) > LONGEST_QUERY:
        raise Invalid("These filters are too long for a view.")


def _back(query: str) -> HttpResponse:
    return redirect(f"{reverse('runs')}?{query}" if query else reverse("runs"))
