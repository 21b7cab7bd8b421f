"""What reading an input needs everywhere: the protocol's spelling, and errors that name a place."""

from collections.abc import Iterable
from typing import Any

from protocol.errors import Invalid


def rename(data: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Spell known snake_case keys as the protocol does; the protocol's own spelling wins."""
    return {
        names.get(key, key): value
        for key, value in data.items()
        if key not in names or names[key] not in data
    }


def wrong(path: str, expected: str) -> Invalid:
    """The error for a value of the wrong type, with its place."""
    return Invalid(f"{path} must be {expected}.", details={"path": path})


def picked(data: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The members of these names; null is the same as absent, unknown members stay out."""
    return {name: data[name] for name in names if data.get(name) is not None}


def text(data: dict[str, Any], name: str, path: str) -> str:
    """A member that must be a string. Raises Invalid."""
    value = data.get(name)
    if not isinstance(value, str):
        raise wrong(f"{path}.{name}", "a string")
    return value


def check_texts(data: dict[str, Any], names: Iterable[str], path: str) -> None:
    """Members that must be strings where they are. Raises Invalid."""
    for name in names:
        if name in data:
            text(data, name, path)


def check_object(data: dict[str, Any], name: str, path: str) -> None:
    """A member that must be an object where it is. Raises Invalid."""
    if not isinstance(data.get(name, {}), dict):
        raise wrong(f"{path}.{name}", "an object")
