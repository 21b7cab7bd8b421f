"""The page of private threads that people who have left the team left behind."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agui_host.dashboard.pages import Question, action, page
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.numbers import LARGEST, whole
from agui_host.teams.access import members
from agui_host.teams.authentication import Principal
from runs.access import threads

MOST = 200


@page
def listing(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The newest of them, for owners of the team."""
    context = {
        "rows": threads.left_behind(principal).order_by("-id")[:MOST],
        "members": members.visible(principal).filter(user__is_active=True).order_by("pk"),
    }
    return render(request, "team/left_threads.html", context)


@action("team-left-threads")
def hand_over(request: HttpRequest, principal: Principal, key: UUID) -> HttpResponse:
    """Hand one over to the member that the form names."""
    member = whole(request.POST.get("member", ""), 1, LARGEST)
    if member is None:
        raise Invalid("member must be the number of a member.", details={"path": "member"})
    threads.hand_over(principal, key, member)
    messages.success(request, "The thread belongs to that member now.")
    return redirect("team-left-threads")


@action(
    "team-left-threads",
    asks=Question(
        "Erase this thread?",
        "Its runs are deleted for good, with everything that they received and sent.",
        "Erase",
    ),
)
def erase(request: HttpRequest, principal: Principal, key: UUID) -> HttpResponse:
    """Erase one, for good."""
    threads.erase(principal, key)
    messages.success(request, "The thread is erased.")
    return redirect("team-left-threads")
