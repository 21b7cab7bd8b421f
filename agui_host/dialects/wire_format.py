"""A dialect's entry in the registry: its ``routes.py`` binds a ``WireFormat`` as ``FORMAT``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from django.urls import URLPattern

from agui_host.protocol.wire.fold import Dialect
from agui_host.web.addresses.operation import Operation
from agui_host.web.addresses.route import Route
from agui_host.web.addresses.shapes import Json

SSE = "text/event-stream"


class Reader(NamedTuple):
    """A form in which clients read a run; ``judge`` is the test that plays its owner's own client.

    ``fold`` makes the fold of one run for a reader. Without a fold the format carries the stored
    events as they are, with its own cursor.
    """

    name: str
    address: str
    judge: str
    fold: Callable[[str], Dialect] | None = None
    media_type: str = SSE


@dataclass(frozen=True, kw_only=True)
class WireFormat:
    """``routes`` and ``sockets`` are apps of ASGI, ``views`` are Django's.

    ``operations`` and ``shapes`` go into the API's description.
    """

    readers: tuple[Reader, ...]
    routes: tuple[Route, ...] = ()
    sockets: tuple[Route, ...] = ()
    views: tuple[URLPattern, ...] = ()
    operations: tuple[Operation, ...] = ()
    shapes: Mapping[str, Json] = field(default_factory=dict)
