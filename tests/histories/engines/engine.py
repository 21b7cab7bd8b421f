"""What the host of a history is started with, and how that can be hurt."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.engines.replicated import Pair
from tests.acceptance.host import Host

Strike = Callable[[Host], None]
"""Hurts the engine and lets it come back; raises AssertionError if it did not fire."""


@dataclass
class Engine:
    """Servers beside ``up``, and the faults that they bring."""

    env: dict[str, str]
    strikes: dict[str, Strike] = field(default_factory=dict)
    instead_of: str = ""
    """The engine that ``up`` does not start: the beginning of the names of its faults."""
    pair: Pair | None = None
    synchronous: bool = True


Begin = Callable[[Path, ExitStack], Engine]
"""Starts an engine beside the data directory of a host; the stack ends it."""
