"""The page of one's personal data, and its export."""

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from agui_host.dashboard.pages import refused, uncached
from agui_host.protocol.errors import HostError
from runs.access.people import export as personal_data


@uncached
@login_required
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The data that the host has about the visitor, and who erases it."""
    return render(request, "account/data.html")


@uncached
@login_required
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """The visitor's data of the teams that they can enter, a JSON object a line."""
    assert isinstance(request.user, User)  # noqa: S101  (login_required)
    try:
        lines = personal_data.for_themselves(request.user)
    except HostError as error:
        return refused(request, error)
    answer = HttpResponse("".join(lines), content_type="application/x-ndjson")
    answer["Content-Disposition"] = 'attachment; filename="my-data.ndjson"'
    return answer
