"""Turns whatever Python agents put into events into plain JSON."""

import base64
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from agui_host.protocol.encoding import clean_text

MAX_DEPTH = 100
"""Levels of nesting allowed inside one open value."""

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that survives JavaScript."""

MAX_READABLE = 100_000
"""How many values ``readable`` copies; the rest is left out."""
LEFT_OUT = "…"
DAY = 24 * 60 * 60 * 1000
"""In milliseconds."""


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
            return fields_of(value)
        return dumped
    raise Malformed("must be an object")


def fields_of(model: BaseModel) -> dict[str, Any]:
    """The fields of a pydantic model by wire name, their values as they are."""
    known = type(model).model_fields
    names = {name: each.serialization_alias or each.alias for name, each in known.items()}
    values = {**vars(model), **(model.__pydantic_extra__ or {})}
    return {names.get(name) or name: value for name, value in values.items()}


def stamp_value(value: Any) -> int | None:
    """A timestamp as the required integer, None if it cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # The comparison also rejects NaN, infinities and integers too big for a float.
    return round(value) if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else None


def time_of(stamp: int, now: int) -> int | None:
    """A timestamp in milliseconds; None for a time more than a day from ``now``.

    Some producers send seconds or microseconds.
    """
    for time in (stamp, stamp * 1000, stamp // 1000):
        if abs(time - now) <= DAY:
            return time
    return None


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
    if not isinstance(value, Iterator):  # to read one takes from the agent, or never ends
        try:
            return to_jsonable_python(value, by_alias=True)
        except (ValueError, RecursionError):
            pass
    raise Malformed(f"a {type(value).__name__} is not JSON")


def key_value(key: Any) -> str:
    """``key`` as an object's key. Raises Malformed."""
    if not isinstance(key, str):
        raise Malformed("keys must be strings")
    return text_value(key)


def readable(value: Any) -> Any:
    """A clean copy of any value: like ``json_value``, with text where that refuses.

    A number that JSON or JavaScript lacks becomes its digits, bytes base64, a key its text, any
    other object its class in angle brackets. "…" replaces a value that is nested too deep, contains
    itself, or comes after MAX_READABLE values.
    """
    return _Readable().part(value, 0)


class _Readable:
    """One copy: how many values are still allowed, and the containers that the walk is in."""

    __slots__ = ("above", "left")

    def __init__(self) -> None:
        self.left = MAX_READABLE
        self.above: set[int] = set()

    def part(self, value: Any, depth: int) -> Any:
        self.left -= 1
        cls = value.__class__
        if cls is str:
            return clean_text(value)
        if value is None or cls is bool:
            return value
        if cls is int or cls is float:
            return _number(value)
        if cls is dict or cls is list or cls is tuple:
            return self._container(value, depth)
        return self._object(value, depth)

    def _container(self, value: Any, depth: int) -> Any:
        if depth >= MAX_DEPTH or self.left < 0 or id(value) in self.above:
            return LEFT_OUT
        self.above.add(id(value))
        copied = self._members(value, depth) if value.__class__ is dict else []
        if copied.__class__ is list:
            for part in value:
                if self.left <= 0:
                    copied.append(LEFT_OUT)
                    break
                copied.append(self.part(part, depth + 1))
        self.above.discard(id(value))
        return copied

    def _members(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        copied: dict[str, Any] = {}
        for key, part in value.items():
            if self.left <= 0:
                break
            name = _name(key)
            if name in copied:  # 1 and "1" are two keys in Python
                name = f"{name}~{len(copied)}"
            copied[name] = self.part(part, depth + 1)
        return copied

    def _object(self, value: Any, depth: int) -> Any:
        if isinstance(value, bytes | bytearray | memoryview):
            return _text_of(bytes(value))
        if isinstance(value, BaseModel):
            plain: Any = fields_of(value)
        elif is_dataclass(value) and not isinstance(value, type):
            plain = {field.name: getattr(value, field.name, None) for field in fields(value)}
        elif isinstance(value, set | frozenset):
            plain = list(value)
        elif isinstance(value, PurePath):
            plain = str(value)
        else:
            try:
                plain = _plain(value)
            except Malformed:
                return f"<{type(value).__name__}>"
        if id(value) in self.above:
            return LEFT_OUT
        self.above.add(id(value))
        copied = self.part(plain, depth)
        self.above.discard(id(value))
        return copied


def _number(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else _CONSTANTS[str(value)]
    if abs(value) <= MAX_SAFE_INTEGER:
        return value
    return str(value) if value.bit_length() < 4_000 else f"<{type(value).__name__}>"


_CONSTANTS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _text_of(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()


def _name(key: Any) -> str:
    """A key as an object's key: JavaScript's and ``json.dumps``'s for numbers and constants."""
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return text_value(key)
    if isinstance(key, int | float):
        return str(_number(key))
    try:
        plain = _plain(key)
    except Malformed:
        plain = None
    return clean_text(plain) if plain.__class__ is str else f"<{type(key).__name__}>"
