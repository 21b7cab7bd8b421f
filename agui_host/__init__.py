"""The AG-UI run host; authors of agents write ``from agui_host import agent, RunContext``."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agui_host.runtimes.context.run_context import RunContext
    from agui_host.runtimes.registry import agent

__all__ = ["RunContext", "agent"]


def __getattr__(name: str) -> Any:
    # Imported on demand: below this package are also modules that do without Django.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agui_host import runtimes

    return getattr(runtimes, name)
