"""Errors as SCIM writes them."""

from typing import Any

from rest_framework.response import Response

from agui_host.protocol.errors import BadRequest, HostError, Invalid
from agui_host.teams.directory.people import Taken
from agui_host.web.answers import as_host_error, exception_handler

ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"


class InvalidFilter(BadRequest):
    """Filters compare userName, externalId, displayName, emails, id or members with `eq`."""

    code = "invalidFilter"


class NotSupported(HostError):
    """This host has no searches by POST: send the filter to /Users or /Groups by GET."""

    code = "not_supported"
    status = 501
    close = 4400


class InvalidPath(BadRequest):
    """This path is none that a PATCH can change."""

    code = "invalidPath"


class InvalidSyntax(BadRequest):
    """The body is no SCIM message of this address."""

    code = "invalidSyntax"


def handle(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's hook for these views: the host's own answer, in SCIM's shape."""
    answer = exception_handler(error, context)
    ours = as_host_error(error)
    answer.status_code = 400 if isinstance(ours, Invalid) else ours.status
    answer.data = {
        "schemas": [ERROR],
        "status": str(answer.status_code),
        **_kind(ours),
        "detail": ours.message,
    }
    return answer


def _kind(error: HostError) -> dict[str, str]:
    if isinstance(error, Taken):
        return {"scimType": "uniqueness"}
    if isinstance(error, Invalid):
        return {"scimType": "invalidValue"}
    if isinstance(error, InvalidFilter | InvalidPath | InvalidSyntax):
        return {"scimType": error.code}
    return {"scimType": "invalidSyntax"} if error.status == 400 else {}
