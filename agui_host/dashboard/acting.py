"""What people do with a run on its page: stop it, run it again, continue from it. Forms."""

from typing import Any
from uuid import UUID, uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agui_host.dashboard import run_page
from agui_host.dashboard.inbox.indented import LONGEST, indented
from agui_host.dashboard.pages import action, both
from agui_host.errors import Forbidden, NotFound
from agui_host.kinds import starts
from agui_host.protocol import patient_json, strict_json
from agui_host.protocol.errors import HostError, Invalid
from agui_host.runtimes.models import Agent
from agui_host.teams.authentication import Principal
from runs.access import access, again, comments
from runs.lifecycle import lifecycle
from runs.lifecycle.steering.messages import LONGEST as LONGEST_MESSAGE
from runs.lifecycle.steering.messages import LONGEST_ID
from runs.models import Run


@action("run")
def cancel(request: HttpRequest, principal: Principal, run_id: UUID) -> HttpResponse:
    """Stop a run; an ended run stays as it is."""
    lifecycle.cancel(access.find(principal, run_id, "cancel"), principal)
    return redirect("run", run_id)


@starts
@action("run")
def run_again(request: HttpRequest, principal: Principal, run_id: UUID) -> HttpResponse:
    """Start a run with the same input, and show it."""
    run = again.run_again(principal, run_id)
    messages.success(request, "This run has the same input. The log of the earlier one stays.")
    return redirect("run", run.pk)


@starts
@action("run")
def go_on(request: HttpRequest, principal: Principal, run_id: UUID) -> HttpResponse:
    """Continue the thread with a message, and show the new run."""
    text = request.POST.get("message", "")
    try:
        run = again.go_on(principal, run_id, text)
    except (NotFound, Forbidden):
        raise
    except HostError as error:
        run = access.find(principal, run_id)
        refusal = {"text": text, "problem": error.message}
        return run_page.show(request, principal, run, status=error.status, refusal=refusal)
    return redirect("run", run.pk)


@action("run")
def say(request: HttpRequest, principal: Principal, run_id: UUID) -> HttpResponse:
    """Send a message to a run that is active, and show the run."""
    text, name = request.POST.get("message", ""), request.POST.get("message_id") or str(uuid4())
    try:
        steer(principal, run_id, name, text)
    except (NotFound, Forbidden):
        raise
    except HostError as error:
        run = access.find(principal, run_id)
        refusal = {"text": text, "id": name, "problem": error.message}
        return run_page.show(request, principal, run, status=error.status, refusal=refusal)
    return redirect("run", run_id)


def steer(principal: Principal, run_id: UUID, name: str, text: str) -> None:
    """Send a form's message to an active run. Raises HostError."""
    if not text.strip() or "\0" in text + name:
        raise Invalid("Write a message.", details={"path": "message"})
    if len(text) > LONGEST_MESSAGE or len(name) > LONGEST_ID:
        raise Invalid("This message is too long.", details={"path": "message"})
    comments.say(principal, run_id, name, text)


@starts
@both
def change(request: HttpRequest, principal: Principal, run_id: UUID) -> HttpResponse:
    """A form with the input of a run; it starts another one with the changes."""
    run = access.find(principal, run_id, "run")
    if not again.may_change(principal, run):
        raise again.NotChangeable
    if request.method != "POST":
        values = {"agent": run.agent.slug, "message": again.last_said(run)}
        state = indented(patient_json.loads(run.input).get("state") or {})
        if len(state) < LONGEST:  # a longer one is cut, and stays as it is
            values["state"] = state
        return _change_form(request, principal, run, values)
    fields = ("agent", "message", "state")
    values = {name: request.POST[name] for name in fields if name in request.POST}
    try:
        started = again.changed(
            principal,
            run_id,
            agent=values.get("agent", ""),
            text=values.get("message", ""),
            state=_state(values["state"]) if "state" in values else None,
        )
    except (NotFound, Forbidden):
        raise
    except HostError as error:
        return _change_form(request, principal, run, values, error)
    messages.success(request, "This run has its own thread.")
    return redirect("run", started.pk)


def _change_form(
    request: HttpRequest,
    principal: Principal,
    run: Run,
    values: dict[str, str],
    error: HostError | None = None,
) -> HttpResponse:
    enabled = Agent.objects.for_team(principal.team).filter(enabled=True)
    slugs = filter(principal.may_use, enabled.values_list("slug", flat=True))
    context = {
        "principal": principal,
        "run": run,
        "values": values,
        "problem": error.message if error else "",
        "agents": list(slugs),
    }
    return render(request, "runs/change.html", context, status=error.status if error else 200)


def _state(text: str) -> Any:
    try:
        return strict_json.loads(text.encode()) if text.strip() else {}
    except HostError as error:
        raise Invalid(f"State: {error.message}", details={"path": "state"}) from None
