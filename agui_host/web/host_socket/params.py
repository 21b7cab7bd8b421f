"""Reads the parameters of a request; each error names the wrong one."""

from typing import Any
from uuid import UUID

from agui_host.errors import BadCursor
from agui_host.protocol.errors import Invalid
from agui_host.protocol.ids import Position
from agui_host.protocol.input.fields import wrong
from runs.access import cursors

WINDOW = 256
MOST_WINDOW = 10_000
"""Events that a subscriber can have without having acknowledged them."""


def text(params: dict[str, Any], name: str) -> str:
    """A non-empty string. Raises Invalid."""
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise wrong(name, "a non-empty string")
    return value


def optional_text(params: dict[str, Any], name: str) -> str | None:
    """A string; None if it is absent or null. Raises Invalid."""
    value = params.get(name)
    if not isinstance(value, str | None):
        raise wrong(name, "a string")
    return value


def uuid(params: dict[str, Any], name: str) -> UUID:
    """A UUID. Raises Invalid."""
    try:
        return UUID(text(params, name))
    except ValueError:
        raise wrong(name, "the id of an object, a UUID") from None


def optional_uuid(params: dict[str, Any], name: str) -> UUID | None:
    """A UUID; None if it is absent or null. Raises Invalid."""
    return None if params.get(name) is None else uuid(params, name)


def cursor(value: Any) -> Position:
    """A position, as ``seq`` or ``"epoch-seq"``; absent means the start. Raises BadCursor."""
    if value is None:
        return Position(0)
    if isinstance(value, str) and "-" in value:
        return cursors.read(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadCursor("A cursor is the cursor of a frame, or its seq: 0, 1, 2, …")
    return Position(value)


def window(params: dict[str, Any]) -> int:
    """How many events can be unacknowledged. Raises Invalid."""
    value = params.get("window", WINDOW)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_WINDOW:
        raise Invalid(f"window must be 1 to {MOST_WINDOW}.", details={"path": "window"})
    return value
