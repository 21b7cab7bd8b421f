"""The root of all errors, and the errors that the protocol itself raises.

An error has a stable code, a message for people, and its status on each transport. The docstring of
a class is its default message, so it is written for the person who reads it. DRF's exception
handler, the ASGI consumers, WebSocket close codes and RUN_ERROR read these attributes and nothing
else. The host adds its own errors in ``agui_host/errors.py``.
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


class Invalid(HostError):
    """The request is well formed, but one of its values is invalid."""

    code = "invalid"
    status = 422
    close = 4400


class UnknownMember(Invalid):
    """The request names a member that is not known here."""

    code = "unknown_member"


class RunErrorCode(StrEnum):
    """The codes a RUN_ERROR can carry; docs/protocol.md explains each."""

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
    EFFECT_CONFLICT = "effect_conflict"
    EFFECT_TOO_LARGE = "effect_too_large"
    EFFECT_UNVERIFIED = "effect_unverified"
    CODE_CHANGED = "code_changed"
    BUDGET_EXCEEDED = "budget_exceeded"


class RunFailed(HostError):
    """The run failed."""

    code = "run_failed"

    def __init__(self, reason: RunErrorCode, message: str) -> None:
        """``reason`` becomes RUN_ERROR.code; ``message`` is shown to clients."""
        super().__init__(message, details={"reason": reason.value})
        self.reason = reason
