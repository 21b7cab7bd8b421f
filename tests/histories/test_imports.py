"""The checker imports the standard library and itself, so that it shares no error with the host."""

import ast
import sys
from pathlib import Path

CHECKER = Path(__file__).parent / "checker"


def foreign(source: str) -> set[str]:
    """The modules that are neither of the standard library nor beside the source."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level < 2, "an import from outside of its folder"
            names |= set() if node.level else {str(node.module).split(".")[0]}
        elif isinstance(node, ast.Call) and "import" in ast.unparse(node.func):
            names.add(ast.unparse(node))
    return names - sys.stdlib_module_names


def test_it_imports_nothing_of_ours() -> None:
    sources = sorted(CHECKER.glob("*.py"))
    assert len(sources) >= 10
    assert {path.name: foreign(path.read_text("utf-8")) for path in sources} == {
        path.name: set() for path in sources
    }


def test_an_import_is_noticed() -> None:
    assert foreign("import json, httpx\nfrom events import hub\nfrom . import lines") == {
        "httpx",
        "events",
    }
    assert foreign("importlib.import_module('runs')")
