"""The kinds of value from which ``schema.py`` builds its tables, and which the gate interprets."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any


class Leaf(Enum):
    """A value whose inside the protocol does not describe."""

    TEXT = auto()
    DELTA = auto()
    BOOL = auto()
    COUNT = auto()
    STAMP = auto()
    POINTER = auto()
    JSON = auto()
    NULLABLE = auto()
    """JSON that can be null where it is optional; any other optional null is left out."""
    OBJECT = auto()


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few strings."""

    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class Many:
    """An array; ``or_text`` allows a plain string in its place."""

    of: Any
    least: int = 0
    or_text: bool = False


@dataclass(frozen=True, slots=True)
class Variants:
    """An object of one of several shapes, told apart by the value of ``tag``.

    ``legacy`` maps retired values of ``tag`` to the function that translates such an object.
    """

    tag: str
    shapes: dict[str, "Shape"]
    legacy: Mapping[str, Callable[[Mapping[Any, Any]], Mapping[Any, Any]]] = field(
        default_factory=dict
    )


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its name on the wire, its kind, and whether it is required."""

    name: str
    kind: Any
    required: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """An object. ``fields`` accepts both spellings, ``messageId`` and ``message_id``.

    ``open``: the spec keeps members that it does not describe. ``defaults``: required fields that
    are filled in if a producer leaves them out.
    """

    fields: dict[str, Field]
    required: tuple[str, ...]
    open: bool = False
    defaults: dict[str, str] = field(default_factory=dict)


def snake(name: str) -> str:
    """``messageId`` → ``message_id``, the spelling of Python agents."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def shape(
    required: str,
    optional: str = "",
    *,
    is_open: bool = False,
    defaults: dict[str, str] | None = None,
    **kinds: Any,
) -> Shape:
    """A shape from two lists of names; ``kinds`` gives the kinds of fields other than text."""
    listed = [(name, True) for name in required.split()]
    listed += [(name, False) for name in optional.split()]
    fields = {name: Field(name, kinds.pop(name, Leaf.TEXT), must) for name, must in listed}
    assert not kinds, f"no such field: {kinds}"  # noqa: S101 - an illegal table cannot be imported
    spelled = {snake(name): known for name, known in fields.items()} | fields
    return Shape(spelled, tuple(required.split()), is_open, defaults or {})
