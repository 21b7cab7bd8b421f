"""Shared by all readers of an input: the protocol's spelling, and errors that name the location."""

from collections.abc import Iterable
from typing import Any

from agui_host.protocol.errors import Invalid


def rename(data: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Rename known snake_case keys to the protocol's spelling, which wins if both are present."""
    return {
        names.get(key, key): value
        for key, value in data.items()
        if key not in names or names[key] not in data
    }


def wrong(path: str, expected: str) -> Invalid:
    """The error for a value of the wrong type, with its path."""
    return Invalid(f"{path} must be {expected}.", details={"path": path})


def object_at(value: Any, where: str) -> dict[str, Any]:
    """``value`` if it is an object. Raises Invalid."""
    if not isinstance(value, dict):
        raise wrong(where, "an object")
    return value


def objects(value: Any, where: str) -> list[dict[str, Any]]:
    """``value`` if it is a list of objects; none for null. Raises Invalid."""
    value = [] if value is None else value
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise wrong(where, "a list of objects")
    return value


def text_at(members: dict[str, Any], name: str, where: str) -> str:
    """A member that is a string; only one called ``text`` can be empty. Raises Invalid."""
    value = members.get(name)
    if not isinstance(value, str) or (not value and name != "text"):
        raise wrong(where if where == name else f"{where}.{name}", "a string")
    return value


def picked(data: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The named members; null counts as absent, unknown members are left out."""
    return {name: data[name] for name in names if data.get(name) is not None}
