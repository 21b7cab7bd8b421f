"""The version of an agent's code, so that a log can say that another one continued a run."""

import hashlib
import inspect
from functools import cache

from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent


def version_of(row: Agent) -> str:
    """The digest of the module in which the agent was written; empty if it has none here."""
    registered = registry.all().get(row.target or row.slug)
    if registered is None:
        return ""
    target = registered.target
    written = hasattr(target, "__code__") or inspect.isclass(target)
    try:
        return _digest(inspect.getfile(target if written else type(target)))
    except (OSError, TypeError):  # written at a prompt, or not in Python
        return ""


@cache
def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]
