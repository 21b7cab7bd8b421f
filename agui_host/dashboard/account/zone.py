"""The one clock of the pages: the zone of the visitor's browser, or UTC if the visitor prefers it.

A script reports the browser's zone. A cookie keeps the choice of UTC, for this browser.
"""

import re
from collections.abc import Callable
from functools import cache, wraps
from typing import TypeVar
from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

COOKIE = "zone"
"""``static/js/zone.mjs`` sets it."""
CLOCK, IN_UTC = "clock", "utc"
"""The cookie of visitors who prefer UTC, and its value."""
YEAR = 365 * 24 * 3600
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,30}(?:/[A-Za-z0-9_+-]{1,30}){0,2}")
UTC = ZoneInfo("UTC")
R = TypeVar("R")


@cache
def names() -> frozenset[str]:
    """The time zones of this machine; the first call reads hundreds of files."""
    return frozenset(available_timezones() - {"localtime"})


def of(request: HttpRequest) -> ZoneInfo:
    """The zone of the pages for the browser that asks."""
    return UTC if prefers_utc(request) else of_browser(request)


def prefers_utc(request: HttpRequest) -> bool:
    """Whether the visitor has switched to UTC."""
    return request.COOKIES.get(CLOCK) == IN_UTC


def keep(answer: HttpResponse, request: HttpRequest, clock: str) -> None:
    """Remember the choice of a clock in the browser that asks."""
    if clock != IN_UTC:
        return answer.delete_cookie(CLOCK)
    answer.set_cookie(
        CLOCK, IN_UTC, YEAR, secure=request.is_secure(), httponly=True, samesite="Lax"
    )
    return None


def of_browser(request: HttpRequest) -> ZoneInfo:
    """The zone of the browser that asks; UTC as long as it has not told one that exists."""
    name = request.COOKIES.get(COOKIE, "")
    return _named(name) if NAME.fullmatch(name) else UTC


def in_zone(view: Callable[..., R]) -> Callable[..., R]:
    """Write and read all times of the page in the zone of the visitor's browser."""

    @wraps(view)
    def local(request: HttpRequest, *args: object, **kwargs: object) -> R:
        with timezone.override(of(request)):
            return view(request, *args, **kwargs)

    return local


def _named(name: str) -> ZoneInfo:
    return ZoneInfo(name) if name in names() else UTC
