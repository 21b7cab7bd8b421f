"""Shared by every page: the signed-in visitor, refusals, and no caching."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.urls import get_resolver, resolve, reverse
from django.utils.cache import patch_cache_control
from django.views.csrf import csrf_failure
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRedirect

from agui_host.dashboard.account import unsent
from agui_host.dashboard.account.zone import in_zone
from agui_host.dashboard.visitor import KNOWN
from agui_host.errors import NotFound, Unauthenticated
from agui_host.protocol.errors import HostError
from agui_host.teams import authentication
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Team
from runs.access.inspect import elsewhere

SAFE = ("GET", "HEAD")
SURE = "confirmed"
"""The field with which a form confirms that something is to be destroyed."""
POSTS_FROM = "posts_from"
FOR_PEOPLE = "for_people"
AGAIN = {409, 413, 422, 429, 503}
"""The status of errors after which a form can be sent again."""
P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)


Posting = TypeVar("Posting", bound=Callable[..., HttpResponse])

View = Callable[Concatenate[HttpRequest, Principal, P], HttpResponse]
Guarded = Callable[Concatenate[HttpRequest, P], HttpResponse]


def page(view: View[P]) -> Guarded[P]:
    """Give the view the signed-in Principal; others go to the sign-in page and come back.

    A HostError that the view raises becomes a page of that status.
    """
    return uncached(require_safe(_guarded(view)))


class Question(NamedTuple):
    """The question of a page before something is destroyed, its consequences, and the button."""

    title: str
    text: str
    button: str


def action(form: str, asks: Question | None = None) -> Callable[[View[P]], Guarded[P]]:
    """``page`` for a form that posts; Django's middleware has checked the token.

    ``form`` is the name of the page that has the form. With ``asks``, the first POST only shows the
    question, whose form posts the same values again.
    """

    def declared(view: View[P]) -> Guarded[P]:
        asking = view if asks is None else asked_first(form, asks)(view)
        return uncached(posted_from(form)(_guarded(asking)))

    return declared


def asked_first(form: str, question: Question) -> Callable[[Posting], Posting]:
    """A POST that destroys something, which it does once its question was answered."""

    def declared(view: Posting) -> Posting:
        @wraps(view)
        def asking(request: HttpRequest, /, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method in SAFE or request.POST.get(SURE) == "yes":
                return view(request, *args, **kwargs)
            left_out = ("csrfmiddlewaretoken", SURE)
            values = [(name, value) for name, rows in request.POST.lists() for value in rows]
            context = {
                "question": question,
                "values": [(name, value) for name, value in values if name not in left_out],
                "back": place_of(form, kwargs),
            }
            return render(request, "confirm.html", context)

        return cast(Posting, asking)

    return declared


def posted_from(form: str) -> Callable[[Callable[..., Any]], Callable[..., HttpResponse]]:
    """An address to which forms of the page ``form`` post; opened by GET, it leads to that page.

    People open it after a sign-in, or from the browser's history.
    """

    def declared(view: Callable[..., Any]) -> Callable[..., HttpResponse]:
        @wraps(view)
        def chosen(request: HttpRequest, /, **kwargs: object) -> HttpResponse:
            if request.method in SAFE:
                return redirect(place_of(form, kwargs))
            answer: HttpResponse = view(request, **kwargs)
            return answer

        setattr(chosen, POSTS_FROM, form)
        return require_http_methods(["GET", "HEAD", "POST"])(chosen)

    return declared


def posts_from(view: Callable[..., Any]) -> str | None:
    """The page whose forms post to the view; None for a page."""
    form: str | None = getattr(view, POSTS_FROM, None)  # decorators copy it outwards
    return form


def place_of(name: str, values: Mapping[str, object]) -> str:
    """The address of that name, made of those of the ``values`` that it takes."""
    [(_, names)] = get_resolver().reverse_dict.getlist(name)[0][0]
    return reverse(name, kwargs={key: values[key] for key in names})


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
            return unsent.sign_in_first(request) or _sign_in(request)
        except NotFound as error:
            return refused(request, error, _elsewhere(request, kwargs))
        except HostError as error:
            return refused(request, error)

    setattr(guarded, FOR_PEOPLE, True)
    return guarded


def stale_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's handler of a form without a valid token: another session has begun, or none is left.

    A form with a text is shown again if its page is ours, as the browser says: another site's is
    refused.
    """
    view, form = resolve(request.path).func, unsent.form_of(request)
    is_ours = request.headers.get("Origin") == f"{request.scheme}://{request.get_host()}"
    if not (hasattr(view, FOR_PEOPLE) and is_ours and form.has_text):
        return csrf_failure(request, reason)
    try:
        authentication.resolve({}, request.COOKIES)
        signed_in = True
    except HostError:
        signed_in = False
    return unsent.page_with(request, form, signed_in=signed_in, status=403)


def refused(request: HttpRequest, error: HostError, other: Team | None = None) -> HttpResponse:
    """The page that shows an error; ``other`` is a team of the visitor that has the page.

    A form that was refused for its values, or for the moment, comes back with them.
    """
    context: dict[str, Any] = {"error": error, "other_team": other}
    if request.method == "POST" and error.status in AGAIN:
        context["form"] = unsent.form_of(request)
    return render(request, "error.html", context, status=error.status)


def _elsewhere(request: HttpRequest, values: Mapping[str, object]) -> Team | None:
    """The visitor's other team that has the thing of this address, if it is one."""
    principal = getattr(request, KNOWN, None)
    if principal is None or request.method not in SAFE:
        return None
    return elsewhere.team_of(principal, values)


def uncached(view: Callable[P, R]) -> Callable[P, R]:
    """Keep the page out of every cache, and its times in the zone of the visitor's browser."""

    @wraps(view)
    def answered(*args: P.args, **kwargs: P.kwargs) -> R:
        answer = in_zone(view)(*args, **kwargs)
        patch_cache_control(answer, private=True, no_store=True)
        return answer

    return answered


def _sign_in(request: HttpRequest) -> HttpResponse:
    # htmx would follow a redirect and put the sign-in page into the middle of the old one.
    if request.headers.get("HX-Request"):
        return HttpResponseClientRedirect(resolve_url("account_login"))
    return redirect_to_login(request.get_full_path())


def at_secret_address(answer: HttpResponse) -> HttpResponse:
    """Mark the page of an address that is a credential: nobody indexes it or sends it on.

    The policy is not ``no-referrer``: with that, browsers send forms with ``Origin: null``, which
    the check against forged requests refuses.
    """
    answer.headers["Referrer-Policy"] = "strict-origin"
    answer.headers["X-Robots-Tag"] = "noindex"
    return answer
