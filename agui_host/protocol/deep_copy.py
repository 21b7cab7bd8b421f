"""Copies JSON values faster than ``copy.deepcopy``, which remembers every object it meets."""

import copy
from typing import Any

_ATOMS = frozenset({str, int, float, bool, type(None)})


def deep_copy(value: Any) -> Any:
    """A copy of a JSON value that shares nothing with the original.

    Other values are copied if possible; locks and sockets are returned as they are.
    """
    cls = value.__class__
    if cls is dict:
        return {key: deep_copy(part) for key, part in value.items()}
    if cls is list:
        return [deep_copy(part) for part in value]
    if cls in _ATOMS:
        return value
    try:
        return copy.deepcopy(value)
    except Exception:
        return value
