"""The version of an agent's code, so that a log can say that another one continued a run."""

import hashlib
import inspect
from functools import cache
from typing import Any

from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent


def version_of(row: Agent) -> str:
    """The digest of the module in which the agent was written; empty if it has none here."""
    registered = registry.all().get(row.target or row.slug)
    return "" if registered is None else _of_source(registered.target)


@cache
def _of_source(target: Any) -> str:
    named = target if hasattr(target, "__code__") or inspect.isclass(target) else type(target)
    try:
        with open(inspect.getfile(named), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()[:16]
    except (OSError, TypeError):
        return ""
