"""The forms that connect an agent, test it, and change it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agui_host.dashboard.agents.forms import ChangeForm, ConnectForm
from agui_host.dashboard.forms import submitted
from agui_host.dashboard.pages import action, both
from agui_host.runtimes import team_agents
from agui_host.runtimes.kinds import kinds
from agui_host.teams.authentication import Principal
from runs.access.agents import probe


@both
def connect(request: HttpRequest, principal: Principal) -> HttpResponse:
    """A form for a new agent; it tests the agent, or makes it and leads to its page."""
    principal.require("manage_agents")
    if request.method != "POST":
        return _connect_form(request, principal, ConnectForm())
    form = ConnectForm(request.POST)
    if "test" in request.POST:
        finding = submitted(form, lambda fields: _tested(principal, fields))
        return _connect_form(request, principal, form, finding)
    row = submitted(form, lambda _: team_agents.create(principal, form.values))
    if row is None:
        return _connect_form(request, principal, form)
    messages.success(request, "The agent is connected. A program starts its runs as shown below.")
    return redirect("agent", row.slug)


@both
def change(request: HttpRequest, principal: Principal, slug: str) -> HttpResponse:
    """A form with the settings of an agent."""
    row = team_agents.find(principal, slug)
    principal.require("manage_agents")
    headers = sorted(team_agents.secrets_of(row).get("headers", {}))
    form = ChangeForm(request.POST if request.method == "POST" else None, row, headers)
    if form.is_bound:
        saved = submitted(form, lambda _: _change(principal, slug, form.changes(row)))
        if saved:
            return redirect("agent", slug)
    context = {"principal": principal, "agent": row, "form": form}
    return render(request, "agents/change.html", context, status=422 if form.errors else 200)


@action("agent")
def test(request: HttpRequest, principal: Principal, slug: str) -> HttpResponse:
    """Test a remote agent with its stored headers, and show the finding."""
    row = team_agents.find(principal, slug)
    principal.require("manage_agents")
    context = {"principal": principal, "agent": row, "finding": None}
    if kinds.of(row.kind).remote:
        headers = team_agents.secrets_of(row).get("headers", {})
        context["finding"] = probe.test(principal, row.target, headers)
    return render(request, "agents/tested.html", context)


def _change(principal: Principal, slug: str, values: dict[str, object]) -> bool:
    if values:
        team_agents.change(principal, slug, values)
    return True


def _tested(principal: Principal, fields: dict[str, object]) -> probe.Finding | None:
    if fields["kind"] != "http":
        return None
    headers = fields["headers"]
    assert isinstance(headers, dict)  # noqa: S101
    return probe.test(principal, str(fields["url"]), headers)


def _connect_form(
    request: HttpRequest,
    principal: Principal,
    form: ConnectForm,
    finding: probe.Finding | None = None,
) -> HttpResponse:
    context = {"principal": principal, "form": form, "finding": finding}
    return render(request, "agents/connect.html", context, status=422 if form.errors else 200)
