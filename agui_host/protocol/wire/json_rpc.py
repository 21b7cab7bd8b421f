"""The common parts of the dialects over JSON-RPC 2.0."""

from collections.abc import Mapping
from typing import Any

from agui_host.protocol.errors import BadRequest, HostError
from agui_host.protocol.input.fields import wrong

Json = dict[str, Any]
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR, SERVER_ERROR = -32602, -32603, -32000
CODES = {
    "bad_json": PARSE_ERROR,
    "bad_request": INVALID_REQUEST,
    "unknown_method": METHOD_NOT_FOUND,
}
LONGEST_ID = 1_000
"""Characters. Each frame of a stream repeats the id of its request."""


def id_of(body: Any) -> int | str | None:
    """The id of a request, for the answer to an otherwise wrong request; None for no valid id."""
    key = body.get("id") if isinstance(body, dict) else None
    if isinstance(key, str):
        return key if len(key) <= LONGEST_ID else None
    return key if isinstance(key, int) and not isinstance(key, bool) else None


def message_of(body: Any) -> Json:
    """The body of a request, which is one message. Raises BadRequest."""
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        raise BadRequest("The body must be one message of JSON-RPC 2.0.")
    return body


def call_of(body: Any) -> tuple[str, Json]:
    """The method that a message calls, and its parameters. Raises BadRequest or Invalid."""
    message = message_of(body)
    method, params = message.get("method"), message.get("params")
    if not isinstance(method, str):
        raise BadRequest("A request has a method.")
    if params in (None, []):  # PHP writes an empty object like that.
        params = {}
    if not isinstance(params, dict):
        raise wrong("params", "an object")
    if "id" in message and id_of(message) is None:
        raise BadRequest("The id of a request is a short text or an integer.")
    return method, params


def error_of(error: HostError, codes: Mapping[str, int], data: Any) -> Json:
    """An error of the host as JSON-RPC's; ``codes`` are those of the dialect, by ours."""
    default = INVALID_PARAMS if error.status in (400, 404, 422) else SERVER_ERROR
    code = codes.get(error.code, INTERNAL_ERROR if error.status >= 500 else default)
    return {"code": code, "message": error.message, "data": data}
