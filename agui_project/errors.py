"""The one family of errors: a stable code, a message for people, and how each transport says it.

The docstring of a class is its default message, so it is written for the person who reads it.
DRF's exception handler, the ASGI consumers, WebSocket close codes and RUN_ERROR all read these
attributes and nothing else.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar


class HostError(Exception):
    """The host could not do this."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    close: ClassVar[int] = 1011

    def __init__(
        self,
        message: str | None = None,
        *,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.message = message or " ".join((type(self).__doc__ or "").split())
        self.details = dict(details or {})
        self.headers = dict(headers or {})
        super().__init__(self.message)

    def as_json(self) -> dict[str, Any]:
        """The body of an error answer: ``{"error": {"code", "message", "details"}}``."""
        return {"error": {"code": self.code, "message": self.message, "details": self.details}}


class BadRequest(HostError):
    """The request could not be understood."""

    code = "bad_request"
    status = 400
    close = 4400


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


class MethodNotAllowed(HostError):
    """This address does not support that method."""

    code = "method_not_allowed"
    status = 405


class NotAcceptable(HostError):
    """This address answers with application/json; let the Accept header allow that."""

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


class UnsupportedMediaType(HostError):
    """Send the body as application/json."""

    code = "unsupported_media_type"
    status = 415
    close = 4400


class Invalid(HostError):
    """The request is well formed, but one of its values is invalid."""

    code = "invalid"
    status = 422
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


class RunErrorCode(StrEnum):
    """The codes a RUN_ERROR may carry; docs/protocol.md explains each."""

    AGENT_ERROR = "agent_error"
    INVALID_EVENT = "invalid_event"
    INVALID_ORDER = "invalid_order"
    EVENT_TOO_LARGE = "event_too_large"
    EVENT_FLOOD = "event_flood"
    TIMEOUT = "timeout"
    WORKER_LOST = "worker_lost"
    SHUTDOWN = "shutdown"
    UPSTREAM_HTTP = "upstream_http"
    UPSTREAM_TIMEOUT = "upstream_timeout"
    UPSTREAM_CLOSED = "upstream_closed"
    PROCESS_EXIT = "process_exit"
    LIMIT = "limit"


class RunFailed(HostError):
    """The run failed."""

    code = "run_failed"

    def __init__(self, reason: RunErrorCode, message: str) -> None:
        """``reason`` is what RUN_ERROR.code will say; ``message`` is shown to clients."""
        super().__init__(message, details={"reason": reason.value})
        self.reason = reason
