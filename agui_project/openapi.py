"""Completes the API's description: errors of its operations, closed bodies, the list of tags."""

from typing import Any

REFUSALS = {
    400: "The request cannot be understood.",
    401: "No credentials, or wrong ones.",
    403: "The role, the key or the origin does not allow this.",
    404: "It does not exist in this team.",
    405: "This URL does not support that method.",
    406: "`Accept` asks for a format that is not available.",
    408: "The body did not arrive in time.",
    409: "The request conflicts with the current state.",
    410: "It was purged.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "A value is not acceptable.",
    429: "A limit is reached; try again after `Retry-After` seconds.",
    503: "The host cannot serve this right now.",
}


ERROR = {
    "type": "object",
    "description": "Every error: a stable code, a message for people, details for programs.",
    "properties": {
        "code": {"type": "string"},
        "message": {"type": "string"},
        "details": {"type": "object", "additionalProperties": {}},
    },
    "required": ["code", "message", "details"],
}
SHAPES = {
    "Error": ERROR,
    "ErrorAnswer": {
        "type": "object",
        "properties": {"error": {"$ref": "#/components/schemas/Error"}},
        "required": ["error"],
    },
}
ERROR_ANSWER = {"$ref": "#/components/schemas/ErrorAnswer"}


def describe_refusals(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A postprocessing hook of drf-spectacular: every error has the same shape."""
    result["components"]["schemas"] |= SHAPES
    for operations in result["paths"].values():
        for operation in operations.values():
            for status, meaning in REFUSALS.items():
                operation["responses"][str(status)] = {
                    "description": meaning,
                    "content": {"application/json": {"schema": ERROR_ANSWER}},
                }
    return result


def list_tags(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A postprocessing hook of drf-spectacular: the description lists all tags."""
    paths = result["paths"].values()
    tags = {tag for operations in paths for each in operations.values() for tag in each["tags"]}
    result["tags"] = [{"name": tag} for tag in sorted(tags)]
    return result


def close_bodies(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A postprocessing hook of drf-spectacular: bodies accept known members only."""
    for operations in result["paths"].values():
        for method in ("post", "put", "patch"):
            contents = operations.get(method, {}).get("requestBody", {}).get("content", {})
            for body in contents.values():
                if (name := body["schema"].get("$ref", "").rpartition("/")[2]) != "":
                    result["components"]["schemas"][name]["additionalProperties"] = False
    return result
