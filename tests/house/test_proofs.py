"""Every test that a page names as its proof exists, and the page says which ones are soak tests."""

import ast
import re
from pathlib import Path

import pytest

from tests.conformance.scenarios import SCENARIOS
from tests.house.repository import ROOT
from tests.named_tests import DOCS, LONG, SOAK

PROOF = re.compile(r"`(tests/[\w/.]+\.py)((?:::\w+)*)`(" + LONG + ")?")
PAGES = sorted(page for page in DOCS.rglob("*.md") if PROOF.search(page.read_text()))


def definition(path: str, name: str) -> ast.AST | None:
    """The function or class of that name in a file."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = ast.walk(ast.parse((ROOT / path).read_text()))
    return next((node for node in nodes if isinstance(node, kinds) and node.name == name), None)


def is_long(path: str, node: ast.AST) -> bool:
    """Whether the test or its whole file is marked ``soak``."""
    marked = "pytest.mark.soak" in " ".join(map(ast.unparse, getattr(node, "decorator_list", ())))
    whole = re.search(r"^pytestmark = .*mark\.soak", (ROOT / path).read_text(), re.MULTILINE)
    return marked or bool(whole)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_proof_that_a_page_names_exists(page: Path) -> None:
    for path, names, long in PROOF.findall(page.read_text()):
        assert (ROOT / path).is_file(), path
        if not names:
            continue
        node = definition(path, names.split("::")[-1])
        assert node, f"{path}{names}"
        if not path.startswith(SOAK):
            assert bool(long) == is_long(path, node), f"{path}{names}: say ' (soak)' if it is one"


SECURITY = (DOCS / "security.md").read_text()
"""Each row of its tables of attacks, ways back in and faults ends with its tests."""
SHORT = re.compile(r"`(test_\w+\.py)?(?:::)?((?:[Tt]est\w*)?(?:::\w+)*)`")


def defined() -> dict[str, set[str]]:
    """The tests and their classes, by the name of their file."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names: dict[str, set[str]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        nodes = ast.walk(ast.parse(path.read_text()))
        names.setdefault(path.name, set()).update(
            node.name for node in nodes if isinstance(node, kinds) and node.name.startswith(TESTS)
        )
    return names


def test_every_row_of_the_page_about_security_has_a_test_that_exists() -> None:
    files = defined()
    every = set[str]().union(*files.values())
    tables = re.findall(r"^\|.*\| test \|\n\| --.*\n((?:\|.*\n)+)", SECURITY, re.MULTILINE)
    cells = [row[-1] for table in tables for row in rows(table)]
    assert len(cells) > 80
    for cell in cells:
        proofs = SHORT.findall(cell)
        assert proofs or PROOF.search(cell), f"no test: {cell}"
        for file, name in proofs:
            known = files.get(file, set()) if file else every
            assert not file or file in files, cell
            assert not name or name.split("::")[-1] in known, f"{cell}: {file}::{name}"


CLIENTS_PAGE = (DOCS / "clients.md").read_text()
"""Its matrix has a test or a reason in each cell."""
SITUATIONS = [
    "text", "reasoning", "server tool", "client tool", "interrupt and answer", "error", "cancel",
    "cut in mid-text", "cut in mid-tool", "killed web process", "second tab", "late join",
    "a run of a month ago", "another dialect",
]  # fmt: skip
CLIENTS = {
    "TanStack AI", "AI SDK", "OpenAI, npm", "OpenAI, PyPI", "Durable Streams, npm",
    "Durable Streams, PyPI", "@ag-ui/client 1", "@ag-ui/client 0", "CopilotKit core",
    "CopilotKit Intelligence", "MCP, npm", "MCP, PyPI", "A2A",
}  # fmt: skip
REASON = "— "
TESTS = ("test_", "Test")


def rows(text: str) -> list[list[str]]:
    """The cells of a page's tables, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    heads = {at for at, row in enumerate(cells) if set(row[0]) == {"-"}}
    return [row for at, row in enumerate(cells) if at not in heads and at + 1 not in heads]


INTRODUCTION, *PARTS = re.split(r"^## ", CLIENTS_PAGE, flags=re.MULTILINE)
SUMMARY = {re.sub(r"\[(.*)\]\(.*\)", r"\1", row[0]): row[1:] for row in rows(INTRODUCTION)}
SECTIONS = {part.partition("\n")[0]: part for part in PARTS}


def test_every_client_has_a_line_and_a_section() -> None:
    assert set(SUMMARY) == CLIENTS
    assert set(SECTIONS) >= CLIENTS


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_no_cell_is_empty(client: str) -> None:
    cells = rows(SECTIONS[client])
    assert [name for name, _ in cells] == SITUATIONS
    for name, cell in cells:
        assert "`tests/" in cell or cell.startswith(REASON), f"{name}: a test or a reason"
        assert len(cell) > len(REASON) + 20, name
    marks = ["–" if cell.startswith(REASON) else "✓" for _, cell in cells]
    assert SUMMARY[client] == marks


def test_the_scenarios_exist() -> None:
    assert set(re.findall("“(.+?)”", CLIENTS_PAGE)) <= {scenario.name for scenario in SCENARIOS}
