"""Shared by all readers of an input: the protocol's spelling, and errors that name the location."""

from collections.abc import Iterable
from typing import Any

from protocol.errors import Invalid


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


def picked(data: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The named members; null counts as absent, unknown members are left out."""
    return {name: data[name] for name in names if data.get(name) is not None}
