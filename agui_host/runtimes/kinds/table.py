"""The kinds of runtime: a new one is a file beside ``python.py`` and a line here."""

from collections.abc import Callable

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes.context.run_context import Runtime
from agui_host.runtimes.kinds.http import HttpRuntime
from agui_host.runtimes.kinds.orchestrator import OrchestratorRuntime
from agui_host.runtimes.kinds.process.runtime import ProcessRuntime
from agui_host.runtimes.kinds.python import PythonRuntime
from agui_host.runtimes.models import Agent

RUNTIMES: dict[str, Callable[[Agent], Runtime]] = {
    "python": PythonRuntime.of,
    "http": HttpRuntime.of,
    "process": ProcessRuntime.of,
    "orchestrator": OrchestratorRuntime.of,
}


def runtime_for(row: Agent) -> Runtime:
    """The runtime that runs this Agent row; raises RunFailed if the host has none."""
    try:
        kind = RUNTIMES[row.kind]
    except KeyError:
        raise RunFailed(
            RunErrorCode.AGENT_ERROR, f'This host has no runtime of the kind "{row.kind}".'
        ) from None
    return kind(row)
