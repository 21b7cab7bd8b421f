"""An owner's rules for everybody in the team."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from agui_host.dashboard.pages import action
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.numbers import whole
from agui_host.teams.access import members
from agui_host.teams.authentication import Principal


@action("team-settings")
def change(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Set the longest life of a new key, and whether everybody needs a second factor."""
    text = request.POST.get("key_days", "").strip()
    days = whole(text, 1, members.MOST_KEY_DAYS)
    if text and days is None:
        raise Invalid(
            f"key_days must be 1 to {members.MOST_KEY_DAYS}, or empty.",
            details={"path": "key_days"},
        )
    factor = bool(request.POST.get("second_factor"))
    changes = {"key_days": days, "second_factor": factor}
    members.change_team(principal, changes)
    messages.success(request, "The team's rules were saved.")
    return redirect("team-settings")
