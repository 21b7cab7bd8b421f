"""The page of a person's own sessions: where they are signed in, and signing out there."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from agui_host.dashboard.pages import Question, asked_first, posted_from, refused, uncached
from agui_host.protocol.errors import HostError
from agui_host.teams.accounts import sessions


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # noqa: S101  (login_required)
    return request.user


@uncached
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@asked_first(
    "account_sessions",
    Question(
        "Sign out everywhere else?",
        "All other browsers in which you are signed in must sign in again; this one stays.",
        "Sign out everywhere else",
    ),
)
def listed(request: HttpRequest) -> HttpResponse:
    """All of one's sessions; a POST ends all but this one."""
    if request.method == "POST":
        count = sessions.end_others(_person(request), request.session.session_key)
        messages.success(
            request, f"Signed out of {count} other session{'' if count == 1 else 's'}."
        )
        return redirect("account_sessions")
    context = {
        "sessions": sessions.listed(_person(request)),
        "current": request.session.session_key,
    }
    return render(request, "account/sessions.html", context)


@posted_from("account_sessions")
@uncached
@login_required
def end(request: HttpRequest, session_id: int) -> HttpResponse:
    """Sign one browser out."""
    try:
        sessions.end(_person(request), session_id)
    except HostError as error:
        return refused(request, error)
    return redirect("account_sessions")
