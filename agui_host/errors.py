"""The host's own errors, in addition to those of the protocol (``agui_host/protocol/errors.py``).

The docstring of a class is its default message, so it is written for the person who reads it.
"""

from collections.abc import Mapping
from typing import Any

from agui_host.protocol.errors import BadRequest, HostError


class BadCursor(BadRequest):
    """The cursor is not a position in this run's log."""

    code = "bad_cursor"


class Unauthenticated(HostError):
    """Sign in, or send a valid API key as 'Authorization: Bearer <key>'."""

    code = "unauthenticated"
    status = 401
    close = 4401


class Forbidden(HostError):
    """You can view this, but you do not have permission to do that."""

    code = "forbidden"
    status = 403
    close = 4403


class NotFound(HostError):
    """This does not exist, or you have no access to it."""

    code = "not_found"
    status = 404
    close = 4404


class UnknownMethod(NotFound):
    """There is no such method here."""

    code = "unknown_method"


class MethodNotAllowed(HostError):
    """This URL does not support that method."""

    code = "method_not_allowed"
    status = 405


class NotAcceptable(HostError):
    """This URL answers with application/json; the Accept header must allow that."""

    code = "not_acceptable"
    status = 406


class RequestTimeout(HostError):
    """The request did not arrive in time."""

    code = "request_timeout"
    status = 408


class Conflict(HostError):
    """The request conflicts with the current state."""

    code = "conflict"
    status = 409
    close = 4409


class TooLarge(HostError):
    """The body is larger than this host accepts."""

    code = "too_large"
    status = 413
    close = 4400


class HeadersTooLarge(HostError):
    """The request has too many or too large headers; send fewer cookies."""

    code = "headers_too_large"
    status = 431
    close = 4400


class UnsupportedMediaType(HostError):
    """Send the body as application/json."""

    code = "unsupported_media_type"
    status = 415
    close = 4400


class Unavailable(HostError):
    """The host cannot serve this right now; try again shortly."""

    code = "unavailable"
    status = 503
    close = 4412

    def __init__(
        self,
        message: str | None = None,
        *,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, details=details, headers={"Retry-After": "2", **(headers or {})})


class Overloaded(Unavailable):
    """The host is overloaded; try again shortly."""

    code = "overloaded"
