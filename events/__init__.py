"""The journal: runs' events in order, who wrote them, and the readers that follow them."""

from typing import Any


def __getattr__(name: str) -> Any:
    # The distribution Events, which opensearch-py needs, puts its events.py into this folder. Where
    # the host was installed after it, this file is the host's, and its names are looked for here.
    if name in ("Events", "EventsException"):
        from importlib import import_module

        return getattr(import_module("events.events"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
