"""A form that was posted after its session had ended: kept until its person has signed in again.

Scripts keep the page open and ask for the sign-in; this is for browsers without them. The cache
holds the form for an hour. Only the browser that posted it gets it back, by a cookie.
"""

import re
import secrets
from typing import NamedTuple

from allauth.core import ratelimit
from django.contrib.auth.views import redirect_to_login
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

UNSENT = "unsent"
"""The page with the form, and the cookie."""
SECONDS = 3600
MOST_CHARACTERS = 16_384
NAVIGATE = "navigate"
OUT = re.compile(r"csrfmiddlewaretoken|confirmed|.*(password|secret|token).*")
ID = re.compile(r"[0-9a-f-]{32,36}|\d*")
TOKEN = re.compile(r"[\w-]{32}")


class Form(NamedTuple):
    """Where a form was posted, and its names and values without secrets."""

    to: str
    values: list[tuple[str, str]]

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """Each name and value, with a label if people can read the value."""
        return [
            (name, value, "" if ID.fullmatch(value) else name.replace("_", " ").capitalize())
            for name, value in self.values
        ]

    @property
    def has_text(self) -> bool:
        """Whether people have typed something into it."""
        return any(label for _, _, label in self.rows)


def sign_in_first(request: HttpRequest) -> HttpResponse | None:
    """Lead a person who posted a form without a session to sign in, and then to ``UNSENT``.

    A form above the bounds is shown at once, with a link to the sign-in page. None for anything but
    a form: a script keeps its page.
    """
    if request.method != "POST" or request.headers.get("Sec-Fetch-Mode", NAVIGATE) != NAVIGATE:
        return None
    form = form_of(request)
    length = sum(len(value) for _, value in form.values)
    if length > MOST_CHARACTERS or not ratelimit.consume(request, action="unsent", key="all"):
        return page_with(request, form, signed_in=False, status=401)
    token = secrets.token_urlsafe(24)
    cache.set(f"unsent:{token}", form, SECONDS)
    answer = redirect_to_login(reverse(UNSENT))
    answer.set_cookie(
        UNSENT, token, SECONDS, secure=request.is_secure(), httponly=True, samesite="Lax"
    )
    return answer


def find(request: HttpRequest) -> Form | None:
    """The form that this browser posted without a session."""
    token = request.COOKIES.get(UNSENT, "")
    form = cache.get(f"unsent:{token}") if TOKEN.fullmatch(token) else None
    return form and Form(*form)


def form_of(request: HttpRequest) -> Form:
    """The form of this request."""
    rows = [(name, value) for name, values in request.POST.lists() for value in values]
    return Form(request.path, [(name, value) for name, value in rows if not OUT.fullmatch(name)])


def page_with(
    request: HttpRequest, form: Form, *, signed_in: bool, status: int = 200
) -> HttpResponse:
    """The page with a form to be sent once more."""
    context = {"form": form, "signed_in": signed_in}
    return render(request, "account/unsent.html", context, status=status)
