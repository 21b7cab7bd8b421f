"""The code of an agent in this process, so that a log can say that another one continued a run."""

from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent
from agui_host.runtimes.versions import digests


def code_of(row: Agent) -> str:
    """The digest of the module in which the agent was written; empty if it has none here."""
    registered = registry.all().get(row.target or row.slug)
    return "" if registered is None else digests.of_code(registered.target)
