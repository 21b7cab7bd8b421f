"""Values checked against the JSON Schema of an agent, which may be any JSON at all."""

from typing import Any

import structlog
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from jsonschema_specifications import REGISTRY

log = structlog.get_logger(__name__)
MOST = 5
LONGEST = 300


def problems(schema: dict[str, Any], value: Any) -> list[dict[str, str]]:
    """Up to five ``{"path", "message"}``; none when it fits, or when the schema cannot be used.

    With our registry a ``$ref`` never leaves the process: the library's own would fetch it.
    """
    try:
        kind = validator_for(schema, default=Draft202012Validator)
        kind.check_schema(schema)
        found = list(kind(schema, registry=REGISTRY).iter_errors(value))
    except Exception as error:  # it is an agent's: $schema may be a list, $ref may point to itself
        log.warning("json_schema.unusable", error=repr(error)[:LONGEST])
        return []
    return [{"path": fault.json_path, "message": fault.message[:LONGEST]} for fault in found[:MOST]]
