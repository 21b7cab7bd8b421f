"""The kinds of runtime: a new one is a file beside ``python.py`` and a line here."""

from collections.abc import Callable

from runtimes.base import Runtime
from runtimes.http import HttpRuntime
from runtimes.models import Agent
from runtimes.orchestrator import OrchestratorRuntime
from runtimes.process.runtime import ProcessRuntime
from runtimes.python import PythonRuntime

RUNTIMES: dict[str, Callable[[Agent], Runtime]] = {
    "python": PythonRuntime.of,
    "http": HttpRuntime.of,
    "process": ProcessRuntime.of,
    "orchestrator": OrchestratorRuntime.of,
}
