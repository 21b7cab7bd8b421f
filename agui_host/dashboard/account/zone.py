"""The one clock of the pages: the time zone of the visitor's browser, which a script reports."""

import re
from collections.abc import Callable
from functools import cache, wraps
from typing import TypeVar
from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpRequest
from django.utils import timezone

COOKIE = "zone"
"""``static/js/zone.mjs`` sets it."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,30}(?:/[A-Za-z0-9_+-]{1,30}){0,2}")
UTC = ZoneInfo("UTC")
R = TypeVar("R")


def of(request: HttpRequest) -> ZoneInfo:
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


@cache
def _existing() -> frozenset[str]:
    return frozenset(available_timezones())


def _named(name: str) -> ZoneInfo:
    return ZoneInfo(name) if name in _existing() else UTC
