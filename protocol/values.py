"""Turns whatever Python agents put into events into plain JSON."""

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from protocol.encoding import clean_text

MAX_DEPTH = 100
"""Levels of nesting allowed inside one open value."""

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that survives JavaScript."""


class Malformed(Exception):
    """A described field has the wrong type; ``path`` leads to it, innermost name first."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.path: list[str] = []
        super().__init__(problem)


class Missing(Malformed):
    """A required field is not there."""

    def __init__(self, name: str) -> None:
        super().__init__(f"'{name}' is missing")
        self.name = name


def text_value(value: Any) -> str:
    """``value`` if it is a string, cleaned. Raises Malformed."""
    if not isinstance(value, str):
        raise Malformed("must be a string")
    return clean_text(str.__str__(value.value if isinstance(value, Enum) else value))


def members_of(value: Any) -> Mapping[Any, Any]:
    """The members of a mapping or a pydantic model, by wire name. Raises Malformed."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, BaseModel):
        # exclude_none would lose data: a required null (CUSTOM.value) and nulls inside open values.
        try:
            dumped: dict[str, Any] = value.model_dump(by_alias=True, warnings=False)
        except (ValueError, RecursionError):
            raise Malformed(f"this {type(value).__name__} is not JSON") from None
        return dumped
    raise Malformed("must be an object")


def stamp_value(value: Any) -> int | None:
    """A timestamp as the required integer, None if it cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # The comparison also rejects NaN, infinities and integers too big for a float.
    return round(value) if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else None


def json_value(value: Any, depth: int = 0) -> Any:
    """A clean copy of an open value: plain JSON that every client reads back unchanged.

    Dates, UUIDs, sets, dataclasses and models become what pydantic makes of them. Raises Malformed
    for NaN, infinities, integers beyond 2^53, keys that are not strings, foreign objects and more
    than MAX_DEPTH levels (which also catches a value that contains itself).
    """
    cls = value.__class__
    if cls is str:
        return clean_text(value)
    if value is None or cls is bool:
        return value
    if cls is int:
        if abs(value) > MAX_SAFE_INTEGER:
            raise Malformed("an integer is beyond 2^53, where JSON numbers lose digits")
        return value
    if cls is float:
        if not math.isfinite(value):
            raise Malformed("NaN and infinities are not JSON")
        return value
    if cls is dict or cls is list or cls is tuple:
        if depth >= MAX_DEPTH:
            raise Malformed(f"nested deeper than {MAX_DEPTH} levels")
        if cls is dict:
            return {key_value(key): json_value(part, depth + 1) for key, part in value.items()}
        return [json_value(part, depth + 1) for part in value]
    return json_value(_plain(value), depth)


def _plain(value: Any) -> Any:
    """The plain form of a value of any other class."""
    match value:
        case Enum():
            return value.value
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case Mapping():
            return dict(value)
    try:
        return to_jsonable_python(value, by_alias=True)
    except (ValueError, RecursionError):
        raise Malformed(f"a {type(value).__name__} is not JSON") from None


def key_value(key: Any) -> str:
    """``key`` as an object's key. Raises Malformed."""
    if not isinstance(key, str):
        raise Malformed("keys must be strings")
    return text_value(key)
