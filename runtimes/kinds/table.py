"""The kinds of runtime: a new one is a file beside ``python.py`` and a line here."""

from collections.abc import Callable

from protocol.errors import RunErrorCode, RunFailed
from runtimes.context.run_context import Runtime
from runtimes.kinds.http import HttpRuntime
from runtimes.kinds.orchestrator import OrchestratorRuntime
from runtimes.kinds.process.runtime import ProcessRuntime
from runtimes.kinds.python import PythonRuntime
from runtimes.models import Agent

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
