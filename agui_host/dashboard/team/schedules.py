"""The team's schedules: make one, see when it fires and with which result."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agui_host.dashboard.forms import ScheduleForm, submitted
from agui_host.dashboard.pages import Question, action, both, page
from agui_host.kinds import starts
from agui_host.teams.authentication import Principal
from runs.access.schedules import manage
from runs.lifecycle.schedules import words

MOST = 100


@both
def listing(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The schedules, and the form that makes one."""
    if request.method != "POST":
        return _list(request, principal, _form(principal))
    form = ScheduleForm(request.POST)
    row = submitted(form, lambda fields: manage.create(principal, _values(fields)))
    if row is None:
        return _list(request, principal, form)
    return redirect("team-schedule", row.pk)


def _form(principal: Principal) -> ScheduleForm:
    return ScheduleForm(initial={"time_zone": principal.team.time_zone})


@page
def detail(request: HttpRequest, principal: Principal, schedule_id: UUID) -> HttpResponse:
    """One schedule, its next runs and its last one."""
    schedule = manage.find(principal, schedule_id)
    context = {
        "schedule": schedule,
        "words": words.of(schedule),
        "next_runs": manage.next_runs(schedule),
    }
    return render(request, "team/schedule.html", context)


@action("team-schedule")
def switch(request: HttpRequest, principal: Principal, schedule_id: UUID) -> HttpResponse:
    """Pause or resume a schedule."""
    manage.change(principal, schedule_id, {"paused": request.POST.get("paused") == "yes"})
    return redirect("team-schedule", schedule_id)


@starts
@action("team-schedule")
def run_now(request: HttpRequest, principal: Principal, schedule_id: UUID) -> HttpResponse:
    """Start a run now."""
    return redirect("run", manage.run_now(principal, schedule_id).pk)


@action(
    "team-schedule",
    asks=Question(
        "Delete this schedule?",
        "It starts no more runs. The runs that it has started stay.",
        "Delete",
    ),
)
def remove(request: HttpRequest, principal: Principal, schedule_id: UUID) -> HttpResponse:
    """Delete a schedule."""
    manage.remove(principal, schedule_id)
    return redirect("team-schedules")


def _values(fields: dict[str, Any]) -> dict[str, Any]:
    """The form's values, as the verb takes them."""
    message = {"role": "user", "content": fields["message"]}
    values = {name: value for name, value in fields.items() if name != "message"}
    return {**values, "agent": fields["agent"] or None, "input": {"messages": [message]}}


def _list(request: HttpRequest, principal: Principal, form: ScheduleForm) -> HttpResponse:
    manages = principal.can("schedule")
    rows = manage.visible(principal).defer("input").order_by("-id")[:MOST] if manages else []
    context = {"rows": [(row, words.of(row)) for row in rows], "manages": manages, "form": form}
    return render(request, "team/schedules.html", context, status=422 if form.errors else 200)
