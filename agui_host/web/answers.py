"""How DRF and Django answer errors: in one shape, whatever raised them."""

import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render, resolve_url
from django.urls import Resolver404, resolve
from rest_framework import exceptions
from rest_framework.response import Response

from agui_host.errors import (
    Forbidden,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnsupportedMediaType,
)
from agui_host.logs import sparingly
from agui_host.protocol.errors import BadRequest, HostError, Invalid
from agui_host.teams import authentication

log = structlog.get_logger(__name__)

OURS: list[tuple[type[Exception], type[HostError]]] = [
    (Http404, NotFound),
    (PermissionDenied, Forbidden),
    (OperationalError, Unavailable),
    (InterfaceError, Unavailable),
    (RequestDataTooBig, TooLarge),
    (exceptions.NotFound, NotFound),
    (exceptions.NotAuthenticated, Unauthenticated),
    (exceptions.AuthenticationFailed, Unauthenticated),
    (exceptions.PermissionDenied, Forbidden),
    (exceptions.MethodNotAllowed, MethodNotAllowed),
    (exceptions.NotAcceptable, NotAcceptable),
    (exceptions.UnsupportedMediaType, UnsupportedMediaType),
    (exceptions.ParseError, BadRequest),
]


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's hook: any exception as its HostError, or as an internal error without details."""
    ours = as_host_error(error)
    log_failure(error, ours)
    headers = dict(ours.headers)
    if isinstance(ours, Unauthenticated):
        headers.setdefault("WWW-Authenticate", "Bearer")
    return Response(ours.as_json(), status=ours.status, headers=headers)


def as_host_error(error: Exception) -> HostError:
    """The HostError for an exception of Django or DRF."""
    if isinstance(error, HostError):
        return error
    if isinstance(error, exceptions.ValidationError):
        details = error.detail if isinstance(error.detail, dict) else {"errors": error.detail}
        return Invalid(details=details)
    for theirs, ours in OURS:
        if isinstance(error, theirs):
            return ours()
    return HostError()


def log_failure(error: Exception, ours: HostError, **values: Any) -> None:
    """Log the host's own faults; log an outage, which fails every request, only sparingly."""
    if isinstance(ours, Unavailable):
        sparingly(log.warning, "request.unavailable", error=repr(error), **values)
    elif ours.status >= 500 and ours.status != 501:  # an absent offer is no fault
        log.exception("request.failed", exc_info=error, **values)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Django's handler of 404: a page for browsers, JSON for the API."""
    return _page_or_json(request, NotFound())


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Django's handler of 403: a page for browsers, JSON for the API."""
    return _page_or_json(request, Forbidden("You do not have permission to do that."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's 500, as JSON for machines; a 503 while the database is away."""
    error = sys.exc_info()[1]
    ours = as_host_error(error) if isinstance(error, Exception) else HostError()
    if not isinstance(ours, Unavailable):
        return _page_or_json(request, HostError())
    log_failure(error, ours, path=request.path)  # type: ignore[arg-type]
    return _page_or_json(request, ours)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Django's 400 (a bad Host header, say), as JSON for machines."""
    return _page_or_json(request, BadRequest())


class NoPageForKeys:
    """Middleware: 401 instead of a redirect to a page, if the only credential is a header.

    A client with a wrong key would follow the redirect and read the sign-in page as its answer.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = self.get_response(request)
        # Over htmx, the sign-in page opens by a header of an answer 200.
        address = answer.get("Location") or answer.get("HX-Redirect")
        if (
            address is None
            or "Authorization" not in request.headers
            or not _is_page(urlsplit(address).path)
            or request.user.is_authenticated
        ):
            return answer
        return _page_or_json(request, _not_for_keys(request.headers["Authorization"]))


def _is_page(path: str) -> bool:
    """Whether a path leads to the sign-in page or to a page for signed-in people."""
    if path == resolve_url("account_login"):
        return True
    try:
        return resolve(path).func.__module__.startswith("agui_host.dashboard.")
    except Resolver404:
        return False


def _not_for_keys(authorization: str) -> HostError:
    try:
        authentication.resolve({"authorization": authorization}, {})
    except HostError as error:
        return error
    return Unauthenticated(
        "This page is for people who have signed in; with a key, use the API.",
        headers={"WWW-Authenticate": authentication.CHALLENGE},
    )


def _page_or_json(request: HttpRequest, error: HostError) -> HttpResponse:
    if "text/html" in request.headers.get("accept", ""):
        page = render(request, "error.html", {"error": error}, status=error.status)
        for name, value in error.headers.items():
            page[name] = value
        return page
    return JsonResponse(error.as_json(), status=error.status, headers=error.headers)
