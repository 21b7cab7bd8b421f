"""The 38 rules of a host: docs/protocol.md names how each is kept and the tests that prove it."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.repository import CODE, ROOT
from tests.named_tests import NAME, named

RULES = range(1, 39)
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)


def rows() -> dict[int, tuple[str, str, str]]:
    """Rule, how it is kept, and the tests, by number."""
    section = (ROOT / "docs" / "protocol.md").read_text("utf-8").split("\n## Host rules\n")[1]
    table = [(int(number), tuple(rest)) for number, *rest in ROW.findall(section)]
    assert [number for number, _ in table] == list(RULES)
    return {number: (rule, how, tests) for number, (rule, how, tests) in table}


def written_in(path: Path) -> set[str]:
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
    files = CODE.findall(how)
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
        assert test in written_in(ROOT / path), f"{page.name}: {name}"


SUITE = """
import pytest

class TestIt:
    @pytest.mark.parametrize("n", [1, 2])
    def test_one(self, n): pass

{mark}
def test_two(): {body}
"""
SETTINGS = "[pytest]\ntestpaths = tests\nmarkers = soak: long\n"
PLUGIN = """
from named_tests import NamedTests

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(NamedTests())
"""


@pytest.mark.parametrize(
    ("mark", "body", "args", "ci", "complaint"),
    [
        ("", "pass", [], True, ""),
        ("", "pass", ["-n", "2"], True, ""),
        ("", "pytest.skip('needs node')", [], False, "named in docs/ but skipped"),
        ("", "pytest.skip('needs node')", [], True, "named in docs/ but skipped"),
        ("", "pytest.skip('needs node')", ["-n", "2"], True, "named in docs/ but skipped"),
        ("@pytest.mark.xfail", "assert False", [], True, "named in docs/ but skipped"),
        ("@pytest.mark.soak", "pass", [], False, "named in docs/ but did not run"),
        ("@pytest.mark.soak", "pass", ["-n", "2"], False, "named in docs/ but did not run"),
        ("@pytest.mark.soak", "pass", ["-k", "one"], True, ""),
        ("@pytest.mark.soak", "pass", ["tests"], True, ""),
    ],
    ids=[
        "all ran", "all ran in parallel", "skipped where a tool may be missing", "skipped in CI",
        "skipped in parallel", "expected to fail", "left out by its mark", "left out in parallel",
        "part by name", "part by path",
    ],
)  # fmt: skip
def test_a_whole_run_must_run_them(
    tmp_path: Path, mark: str, body: str, args: list[str], ci: bool, complaint: str
) -> None:
    """A suite of its own, in a process of its own, with the plugin of this one."""
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    for folder in ("docs", "tests"):
        (tmp_path / folder).mkdir()
    page = "`tests/test_it.py::TestIt::test_one`, `tests/test_it.py::test_two`"
    (tmp_path / "docs" / "page.md").write_text(page)
    (tmp_path / "tests" / "conftest.py").write_text(PLUGIN)
    (tmp_path / "tests" / "test_it.py").write_text(SUITE.format(mark=mark, body=body))
    shutil.copyfile(ROOT / "tests" / "named_tests.py", tmp_path / "tests" / "named_tests.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-m", "not soak", *args],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": "true" if ci else ""},
    )  # fmt: skip
    fails = bool(complaint) and (ci or "did not run" in complaint)
    assert done.returncode == (1 if fails else 0), done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("named in docs/")]
    assert lines == ([f"{complaint}: tests/test_it.py::test_two"] if complaint else [])
