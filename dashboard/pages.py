"""What every page shares: who looks at it, how refusals look, and what a browser may load."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render, resolve_url
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRedirect

from agui_project.errors import HostError, Unauthenticated
from teams import authentication
from teams.authentication import Principal

P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)

# Agents' output is shown on these pages: nothing inline ever runs, and nothing leaves this host.
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)


def page(
    view: Callable[Concatenate[HttpRequest, Principal, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Give the view the signed-in Principal; others go to the sign-in page and come back.

    A HostError that the view raises becomes a page of that status.
    """

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        principal: Principal | None = None
        try:
            principal = authentication.resolve({}, request.COOKIES)
            return view(request, principal, *args, **kwargs)
        except Unauthenticated:
            return _sign_in(request)
        except HostError as error:
            context = {"error": error, "principal": principal}
            return render(request, "error.html", context, status=error.status)

    return strict(require_safe(guarded))


def strict(view: Callable[P, R]) -> Callable[P, R]:
    """Send the page with the content policy, and keep it out of every cache."""

    @wraps(view)
    def answered(*args: P.args, **kwargs: P.kwargs) -> R:
        answer = view(*args, **kwargs)
        answer.headers["Content-Security-Policy"] = POLICY
        patch_cache_control(answer, private=True, no_store=True)
        return answer

    return answered


def _sign_in(request: HttpRequest) -> HttpResponse:
    # htmx would follow a redirect and put the sign-in page into the middle of the old one.
    if request.headers.get("HX-Request"):
        return HttpResponseClientRedirect(resolve_url("login"))
    return redirect_to_login(request.get_full_path())
