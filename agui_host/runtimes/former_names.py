"""Agents that import the host by the names of earlier releases: ``from runtimes import agent``.

Until the next release such an import gets the module below ``agui_host`` that has its place, unless
there is a module of that name, and the log has a warning.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import structlog

log = structlog.get_logger(__name__)
FORMER = frozenset(
    {"backends", "dashboard", "embedded", "protocol", "runtimes", "security", "teams", "web"}
)


class FormerNames(MetaPathFinder, Loader):
    """Finds the host's modules by their former names, where nothing else has that name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module whose top-level name is a former one of ours."""
        top, _, below = fullname.partition(".")
        if top not in FORMER:
            return None
        if below:
            # Before the other finders: they would make a second module from the same file.
            return ModuleSpec(fullname, self) if _is_ours(top) else None
        specs = [each.find_spec(top, None) for each in sys.meta_path if each is not self]
        # A folder without modules, as an update leaves it in a clone, has a spec without origin.
        if not any(spec and spec.origin for spec in specs):
            log.warning("agents.former_name", name=top, write=f"agui_host.{top}")
            return ModuleSpec(fullname, self)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself, not a copy; raises ImportError where there is none."""
        module = importlib.import_module(f"agui_host.{spec.name}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Undo the import system's changes to the module: it is the host's own as well."""
        spec = module.__spec__
        module.__spec__ = spec.loader_state if spec else None


def take() -> None:
    """Let imports find former names from now on."""
    if not any(isinstance(finder, FormerNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, FormerNames())


def _is_ours(name: str) -> bool:
    return getattr(sys.modules.get(name), "__name__", "") == f"agui_host.{name}"
