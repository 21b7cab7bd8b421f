"""The digests from which a version of an agent is made."""

import hashlib
import inspect
import json
from functools import cache
from typing import Any

LENGTH = 12
"""Characters of a version."""


def of_code(target: Any) -> str:
    """The digest of the module in which ``target`` was written; empty if it has none here."""
    written = hasattr(target, "__code__") or inspect.isclass(target)
    try:
        return _of_file(inspect.getfile(target if written else type(target)))
    except (OSError, TypeError):  # written at a prompt, or not in Python
        return ""


def of_parts(*parts: Any) -> str:
    """The digest of JSON values, as a version has it."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:LENGTH]


@cache
def _of_file(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]
