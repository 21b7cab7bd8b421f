"""The rules of all kinds of agents: nothing else in the host compares a kind's name.

The runtimes are in ``table.py``, which only the worker imports.
"""

from agui_host.runtimes.kinds.kind import Kind
from agui_host.runtimes.kinds.process.kind import PROCESS

HTTP = Kind("http", remote=True, continues=True)
EXTERNAL = Kind("external", fed=True)
PYTHON = Kind("python", continues=True)
KINDS = {kind.name: kind for kind in (PYTHON, HTTP, PROCESS, Kind("orchestrator"), EXTERNAL)}
FED = tuple(kind.name for kind in KINDS.values() if kind.fed)
OF_TEAM = tuple(kind.name for kind in KINDS.values() if kind.of_team)
"""The kinds of which a team makes its own agents."""


def of(name: str) -> Kind:
    """The kind of that name; a row can have one that this host does not know."""
    return KINDS.get(name) or Kind(name)
