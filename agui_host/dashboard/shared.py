"""Pages for visitors with a link: one run, live and read-only, or the runs of a thread."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from agui_host.dashboard import listing
from agui_host.dashboard.outline_panel import panel
from agui_host.dashboard.pages import at_secret_address, uncached
from agui_host.dashboard.thread import page as thread_page
from agui_host.errors import Unauthenticated
from agui_host.protocol.errors import HostError
from agui_host.protocol.views.redaction import Redaction
from runs.access import access, sharing
from runs.access.sharing import Opened
from runs.models import Run

P = ParamSpec("P")


def linked(
    view: Callable[Concatenate[HttpRequest, Opened, P], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Give the view the link in the URL; a refusal becomes a page of that status."""

    @wraps(view)
    def guarded(
        request: HttpRequest, /, token: str, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        try:
            person = request.user if isinstance(request.user, User) else None
            answer = view(request, sharing.open_link(token, person), *args, **kwargs)
        except Unauthenticated:
            answer = redirect_to_login(request.get_full_path())
        except HostError as error:
            answer = render(request, "error.html", {"error": error}, status=error.status)
        return at_secret_address(answer)

    return uncached(require_safe(guarded))


@linked
def link(request: HttpRequest, opened: Opened) -> HttpResponse:
    """The link's target: a run, or the runs of a thread."""
    if opened.grant.run_id is not None:
        return _run(request, opened, opened.grant.run_id)
    assert opened.grant.thread_id is not None  # noqa: S101  a grant is on one of the two
    context = thread_page.linked(request, opened.principal, opened.grant)
    return render(request, "shared/thread.html", {"opened": opened, **context})


@linked
def run(request: HttpRequest, opened: Opened, run_id: UUID) -> HttpResponse:
    """One run of a shared thread."""
    return _run(request, opened, run_id)


@linked
def status(request: HttpRequest, opened: Opened, run_id: UUID) -> HttpResponse:
    """The run's status, for its page."""
    run = access.find(opened.principal, run_id)
    return JsonResponse(
        {"status": run.status, "started_at": run.started_at, "ended_at": run.ended_at}
    )


def _run(request: HttpRequest, opened: Opened, run_id: UUID) -> HttpResponse:
    target = _shown(opened, access.find(opened.principal, run_id))
    base = f"/shared/{_token(request)}/runs/{target.pk}"
    redaction = Redaction(opened.grant.redact)
    context = {
        "opened": opened,
        "run": target,
        "outline": panel(opened.principal, target, request.GET, f"{base}/outline", redaction),
        "active": listing.is_active(target),
        "events": f"{base}/events",
        "status": f"{base}/status",
    }
    return render(request, "shared/run.html", context)


def _shown(opened: Opened, run: Run) -> Run:
    """The run as the link has it: without its input, or texts that can hold hidden parts."""
    run.asked = ""
    if opened.grant.redact:
        run.answered = ""
    return run


def _token(request: HttpRequest) -> str:
    assert request.resolver_match is not None  # noqa: S101
    return str(request.resolver_match.kwargs["token"])
