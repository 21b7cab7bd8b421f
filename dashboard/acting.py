"""What people do with a run on its page: stop it, or run it again. Forms; no page of their own."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from dashboard.pages import action
from runs.access import access, start
from runs.lifecycle import lifecycle
from teams.authentication import Principal


@action
def cancel(request: HttpRequest, principal: Principal, run_id: UUID) -> HttpResponse:
    """Stop a run; one that has ended stays as it is."""
    lifecycle.cancel(access.find(principal, run_id, "cancel"), principal)
    return redirect("run", run_id)


@action
def run_again(request: HttpRequest, principal: Principal, run_id: UUID) -> HttpResponse:
    """Start a run with the same input, and show it."""
    run = start.run_again(principal, run_id)
    messages.success(request, "This run has the same input. The log of the earlier one stays.")
    return redirect("run", run.pk)
