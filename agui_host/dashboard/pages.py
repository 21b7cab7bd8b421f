"""Shared by every page: the signed-in visitor, refusals, and no caching."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render, resolve_url
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from agui_host.dashboard.visitor import KNOWN
from agui_host.errors import Unauthenticated
from agui_host.protocol.errors import HostError
from agui_host.teams import authentication
from agui_host.teams.authentication import Principal

SAFE = ("GET", "HEAD")
P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)


View = Callable[Concatenate[HttpRequest, Principal, P], HttpResponse]
Guarded = Callable[Concatenate[HttpRequest, P], HttpResponse]


def page(view: View[P]) -> Guarded[P]:
    """Give the view the signed-in Principal; others go to the sign-in page and come back.

    A HostError that the view raises becomes a page of that status.
    """
    return uncached(require_safe(_guarded(view)))


def action(view: View[P]) -> Guarded[P]:
    """``page`` for forms that post; Django's middleware has checked the token."""
    return uncached(require_POST(_guarded(view)))


def both(view: View[P]) -> Guarded[P]:
    """``page`` for a page whose own form posts to its URL."""
    return uncached(require_http_methods(["GET", "HEAD", "POST"])(_guarded(view)))


def _guarded(view: View[P]) -> Guarded[P]:

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            principal = authentication.resolve({}, request.COOKIES)
            setattr(request, KNOWN, principal)
            return view(request, principal, *args, **kwargs)
        except Unauthenticated:
            return _sign_in(request)
        except HostError as error:
            return refused(request, error)

    return guarded


def refused(request: HttpRequest, error: HostError) -> HttpResponse:
    """The page that shows an error."""
    return render(request, "error.html", {"error": error}, status=error.status)


def uncached(view: Callable[P, R]) -> Callable[P, R]:
    """Keep the page out of every cache."""

    @wraps(view)
    def answered(*args: P.args, **kwargs: P.kwargs) -> R:
        answer = view(*args, **kwargs)
        patch_cache_control(answer, private=True, no_store=True)
        return answer

    return answered


def _sign_in(request: HttpRequest) -> HttpResponse:
    # htmx would follow a redirect and put the sign-in page into the middle of the old one.
    if request.headers.get("HX-Request"):
        return HttpResponseClientRedirect(resolve_url("account_login"))
    back = request.get_full_path() if request.method in SAFE else settings.LOGIN_REDIRECT_URL
    return redirect_to_login(back)
