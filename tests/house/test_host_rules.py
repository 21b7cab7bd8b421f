"""The 38 rules of a host: docs/protocol.md names how each is kept and the tests that prove it."""

import ast
import re
from pathlib import Path

import pytest

from tests.house.repository import ROOT
from tests.named_tests import NAME, NamedTests, named

RULES = range(1, 39)
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
FILE = re.compile(r"`((?:agui_project|teams|runtimes|events|runs|docs)/[\w/.-]+\.\w+)`")


def rows() -> dict[int, tuple[str, str, str]]:
    """Rule, how it is kept, and the tests, by number."""
    section = (ROOT / "docs" / "protocol.md").read_text("utf-8").split("\n## Host rules\n")[1]
    found = [(int(number), tuple(rest)) for number, *rest in ROW.findall(section)]
    assert [number for number, _ in found] == list(RULES)
    return {number: (rule, how, tests) for number, (rule, how, tests) in found}


def tests_in(path: Path) -> set[str]:
    """``name`` and ``Class::name`` of every test of a file."""
    body = ast.parse(path.read_text("utf-8")).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    return {*_functions(body)} | {
        f"{node.name}::{name}" for node in classes for name in _functions(node.body)
    }


def _functions(body: list[ast.stmt]) -> list[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    names = [node.name for node in body if isinstance(node, kinds)]
    return [name for name in names if name.startswith("test")]


@pytest.mark.parametrize("number", RULES)
def test_each_rule_names_its_files_and_its_tests(number: int) -> None:
    rule, how, proofs = rows()[number]
    assert rule.strip()
    files = FILE.findall(how)
    assert files, how
    for file in files:
        assert (ROOT / file).is_file(), file
    # Nothing else may stand there: a misspelt name would not be looked for.
    assert NAME.findall(proofs), proofs
    assert not NAME.sub("", proofs).strip(" ,"), proofs


def test_every_test_that_a_page_names_exists() -> None:
    for name, page in named().items():
        path, test = name.split("::", 1)
        assert (ROOT / path).is_file(), f"{page.name}: {name}"
        assert test in tests_in(ROOT / path), f"{page.name}: {name}"


SUITE = """
import pytest

class TestIt:
    @pytest.mark.parametrize("n", [1, 2])
    def test_one(self, n): pass

{mark}
def test_two(): {body}
"""


@pytest.mark.parametrize(
    ("mark", "body", "args", "code"),
    [
        ("", "pass", [], 0),
        ("@pytest.mark.soak", "pass", [], 1),
        ("@pytest.mark.parametrize('n', [])", "pass", [], 0),
        ("", "pytest.skip('needs node')", [], 0),
        ("@pytest.mark.soak", "pass", ["-k", "one"], 0),
        ("@pytest.mark.soak", "pass", ["tests"], 0),
    ],
    ids=["all ran", "left out by a mark", "skipped", "skipped inside", "part by name", "a path"],
)
def test_a_whole_run_must_run_them(
    tmp_path: Path, mark: str, body: str, args: list[str], code: int
) -> None:
    """A suite of its own, in a process of its own, with the plugin of this one."""
    assert NamedTests
