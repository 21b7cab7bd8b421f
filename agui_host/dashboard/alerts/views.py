"""The alerts of a team: make one, see its state and history, snooze, pause or delete it."""

from datetime import timedelta
from typing import Any
from urllib.parse import unquote_plus
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from agui_host.backends.postgres import clock
from agui_host.dashboard.alerts.forms import SNOOZES, WAYS, AlertForm
from agui_host.dashboard.forms import submitted
from agui_host.dashboard.overview.overview import address, text_of
from agui_host.dashboard.pages import Question, action, both, page
from agui_host.teams.authentication import Principal
from runs.access.alerts import manage, measures
from runs.models import Alert, Measure

MOST = 200


@both
def listing(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The alerts, and the form that makes one."""
    if request.method != "POST":
        return _list(request, principal, AlertForm(principal=principal))
    principal.require("manage_alerts")
    form = AlertForm(request.POST, principal=principal)
    row = submitted(form, lambda fields: manage.create(principal, form.values()))
    if row is None:
        return _list(request, principal, form)
    messages.success(request, "The alert was made. It is checked within a minute.")
    return redirect("alert", row.pk)


@page
def detail(request: HttpRequest, principal: Principal, alert_id: UUID) -> HttpResponse:
    """One alert and its history."""
    alert = manage.find(principal, alert_id)
    context = {
        "alert": alert,
        "runs": _runs(alert),
        "filters": unquote_plus(alert.query).replace("&", ", "),
        "history": manage.history(principal, alert_id)[:MOST],
        "most": MOST,
        "snoozes": SNOOZES,
        "ways": [word for way, word in WAYS if way in alert.tell],
        "is_snoozed": alert.is_snoozed,
        "manages": principal.can("manage_alerts"),
    }
    return render(request, "alerts/alert.html", context)


@action("alert")
def snooze(request: HttpRequest, principal: Principal, alert_id: UUID) -> HttpResponse:
    """Tell nothing for some hours, or tell again."""
    hours = {str(number): number for number, _ in SNOOZES}.get(request.POST.get("hours", ""))
    until = None if hours is None else clock.now() + timedelta(hours=hours)
    manage.snooze(principal, alert_id, until)
    return redirect("alert", alert_id)


@action("alert")
def switch(request: HttpRequest, principal: Principal, alert_id: UUID) -> HttpResponse:
    """Pause or resume an alert."""
    manage.change(principal, alert_id, {"enabled": request.POST.get("enabled") == "yes"})
    return redirect("alert", alert_id)


@action(
    "alert",
    asks=Question(
        "Delete this alert?", "It is no longer checked, and its history is deleted.", "Delete"
    ),
)
def remove(request: HttpRequest, principal: Principal, alert_id: UUID) -> HttpResponse:
    """Delete an alert with its history."""
    manage.remove(principal, alert_id)
    return redirect("alerts")


def _list(request: HttpRequest, principal: Principal, form: AlertForm) -> HttpResponse:
    context: dict[str, Any] = {
        "rows": [(row, row.is_snoozed) for row in manage.visible(principal)[:MOST]],
        "form": form,
        "manages": principal.can("manage_alerts"),
    }
    return render(request, "alerts/list.html", context, status=422 if form.errors else 200)


def _runs(row: Alert) -> str:
    """The address of the list of the runs, or calls, that an alert counts."""
    if row.measure == Measure.DOUBLE_CALLS:
        return f"{reverse('tool-calls')}?doubles=all"
    query = {"agent": row.agent, "started_by": row.person}
    if row.measure in (Measure.FAILED_RUNS, Measure.FAILURE_RATE):
        query["status"] = "failed"
    if row.measure != Measure.WAITING_QUESTIONS:
        query["since"] = text_of(measures.since(row))
    own = {name: value for name, value in query.items() if value}
    return f"{address(own)}&{row.query}" if row.query else address(own)
