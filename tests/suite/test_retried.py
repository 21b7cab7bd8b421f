"""What continuous integration ran a second time is printed, as rows of a list that gets empty."""

import ast
import json
import re
from pathlib import Path

import pytest

from tests.suite import retried
from tests.suite.retried import ROOT

ROW = re.compile(r"^\| `([^`]+)` \| \d{4}-\d\d-\d\d \| .+ \|$")
TEST = "tests/runs/test_a.py::TestIt::test_it[one]"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / retried.FAILED).parent.mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / retried.LIST).write_text((ROOT / retried.LIST).read_text())
    return tmp_path


def fail(root: Path, *names: str) -> None:
    (root / retried.FAILED).write_text(json.dumps(dict.fromkeys(names, True)))


def test_it_is_printed_as_a_row_of_the_list(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fail(root, TEST)
    assert retried.note(root) == 0
    assert TEST in capsys.readouterr().out
    fail(root, "tests/runs/test_b.py::test_b")  # of the second part of the run
    assert retried.note(root) == 0
    capsys.readouterr()
    retried.report(root)
    rows = [match[1] for line in capsys.readouterr().out.splitlines() if (match := ROW.match(line))]
    assert rows == [TEST, "tests/runs/test_b.py::test_b"]


def test_another_run_forgets_it(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fail(root, TEST)
    retried.note(root)
    retried.begin(root)
    capsys.readouterr()
    retried.report(root)
    assert capsys.readouterr().out == ""


def test_one_that_is_in_the_list_is_marked(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / retried.LIST).write_text(f"| `{TEST}` | 2026-11-26 | a timeout |")
    fail(root, TEST)
    retried.note(root)
    retried.report(root)
    assert "(is in the list)" in capsys.readouterr().out


@pytest.mark.parametrize("count", [0, retried.MOST + 1])
def test_none_and_many_are_not_run_again(root: Path, count: int) -> None:
    fail(root, *(f"tests/test_a.py::test_{n}" for n in range(count)))
    assert retried.note(root) == 1
    assert not (root / retried.NOTED).exists()


def test_without_a_failed_test_nothing_is_run_again(root: Path) -> None:
    assert retried.note(root) == 1


def test_the_committed_list_names_tests_that_exist() -> None:
    for line in (ROOT / retried.LIST).read_text().splitlines()[7:]:
        match = ROW.match(line)
        assert match, f"not a row: {line}"
        file, *names = match[1].partition("[")[0].split("::")
        tree = ast.parse((ROOT / file).read_text())
        defined = {getattr(node, "name", None) for node in ast.walk(tree)}
        assert defined >= set(names), match[1]
