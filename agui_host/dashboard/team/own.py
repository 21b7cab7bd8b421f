"""The team itself: its name, its time zone, and the rules of its owners."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agui_host.dashboard.account.zone import names
from agui_host.dashboard.forms import submitted
from agui_host.dashboard.pages import both
from agui_host.teams.access import members
from agui_host.teams.authentication import Principal


class TeamForm(forms.Form):
    """The name and the time zone; the verb decides who changes them."""

    name = forms.CharField(label="Name", max_length=120)
    time_zone = forms.ChoiceField(
        label="Time zone", choices=lambda: [(name, name) for name in sorted(names())]
    )


@both
def settings(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The team, and the form that changes it."""
    own = {"name": principal.team.name, "time_zone": principal.team.time_zone}
    if request.method != "POST":
        return _page(request, principal, TeamForm(initial=own))
    principal.require("rename_team")
    form = TeamForm(request.POST)
    if submitted(form, lambda fields: members.change_team(principal, fields)) is None:
        return _page(request, principal, form)
    messages.success(request, "The team was saved.")
    return redirect("team-settings")


def _page(request: HttpRequest, principal: Principal, form: TeamForm) -> HttpResponse:
    context = {
        "form": form,
        "renames": principal.can("rename_team"),
        "owns": principal.can("manage_team"),
    }
    return render(request, "team/settings.html", context, status=422 if form.errors else 200)
