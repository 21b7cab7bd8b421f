"""Where a module's tests are: ``python -m tests.where runs/access/again.py`` prints their files.

By name, ``test_again.py`` below the tests of the module's room; by import, a test file that imports
the module; else by the table of those that are proved from outside, over HTTP or by a command.
"""

import ast
from collections import defaultdict
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from tests import counts
from tests.house.repository import ROOT, within
from tests.where.elsewhere import ELSEWHERE


@cache
def importers() -> dict[str, set[str]]:
    """By module or name in it, the test files that import it."""
    files: dict[str, set[str]] = defaultdict(set)
    for path in counts.modules(ROOT):
        if path.parts[0] != "tests" or not path.name.startswith("test_"):
            continue
        for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    files[alias.name].add(path.as_posix())
            elif isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{a.name}" for a in node.names)):
                    files[name].add(path.as_posix())
    return files


def by_name(module: Path) -> set[str]:
    """The test files of a module's name in the tests of its room."""
    room = ROOT / "tests" / within(module)[0]
    return {path.relative_to(ROOT).as_posix() for path in room.rglob(f"test_{module.name}")}


def pattern_of(module: Path) -> str | None:
    """The entry of the table that a module falls under; it begins with the room."""
    name = "/".join(within(module))
    fitting = [pattern for pattern in ELSEWHERE if fnmatch(name, pattern)]
    return max(fitting, key=len, default=None)


def tests_of(module: Path) -> set[str]:
    """The files of a module's tests, relative to the repository."""
    direct = by_name(module) | importers().get(".".join(module.with_suffix("").parts), set())
    if direct:
        return direct
    pattern = pattern_of(module)
    return {ELSEWHERE[pattern]} if pattern else set()
