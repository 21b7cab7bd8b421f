"""The wire formats of this host, a folder each. AG-UI itself is none: its readers get its events.

A folder has pure folds (events to frames, ``fold.py``) and readers of requests (``request.py``),
``verbs.py`` (the actions of callers, under the host's rights), ``endpoints.py``, and ``routes.py``,
which declares all of it. A new dialect is a folder, its name in ``DIALECTS``, tests and a page.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from agui_host.dialects.wire_format import WireFormat

DIALECTS = ("alpine", "ai_sdk", "openai", "a2a", "mcp", "copilotkit", "tanstack", "durable_streams")


def formats() -> "tuple[WireFormat, ...]":
    """All dialects, in this order; their routes are imported now, which needs Django's apps."""
    return tuple(map(_format, DIALECTS))


@cache
def _format(name: str) -> "WireFormat":
    return cast("WireFormat", import_module(f"{__name__}.{name}.routes").FORMAT)
