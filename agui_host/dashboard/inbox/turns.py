"""The buttons of a card that claim a question or snooze it."""

from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from agui_host.backends.postgres import clock
from agui_host.dashboard.inbox.choice import Choice
from agui_host.dashboard.pages import action
from agui_host.errors import Forbidden, NotFound
from agui_host.protocol.errors import HostError
from agui_host.teams.authentication import Principal
from runs.access.notices import turns

PAUSES = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}


@action("inbox")
def claim(request: HttpRequest, principal: Principal, interrupt_id: UUID) -> HttpResponse:
    """Tell colleagues that the visitor answers a question, or no longer does."""
    try:
        turns.claim(principal, interrupt_id, request.POST.get("claimed") == "yes")
    except (NotFound, Forbidden):
        raise
    except HostError as error:
        messages.error(request, error.message)
    return _back(request, f"#question-{interrupt_id}")


@action("inbox")
def snooze(request: HttpRequest, principal: Principal, interrupt_id: UUID) -> HttpResponse:
    """Take a question out of the visitor's inbox for a while, or put it back."""
    pause = PAUSES.get(request.POST.get("for", ""))
    try:
        turns.snooze(principal, interrupt_id, clock.now() + pause if pause else None)
    except (NotFound, Forbidden):
        raise
    except HostError as error:
        messages.error(request, error.message)
    else:
        text = "The question is under Snoozed until then." if pause else "The question is back."
        messages.success(request, text)
    return _back(request)


def _back(request: HttpRequest, place: str = "") -> HttpResponse:
    query = Choice.of(request.POST).query
    return redirect(f"{reverse('inbox')}{'?' + query if query else ''}{place}")
