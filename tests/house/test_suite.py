"""The suite itself: nothing is skipped in silence, chance is seeded, no test is left out."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import yaml

from tests import conftest, turns
from tests.house import repository
from tests.suite.defects import catalogue

MAY_SKIP = {"tests/needs.py", "tests/house/test_needs.py"}
SKIPS = {"skip", "skipif", "skipTest", "skipUnless", "importorskip"}


def sources(root: Path = repository.ROOT) -> Iterator[tuple[str, ast.Module]]:
    for path in repository.files(root):
        if path.suffix == ".py" and path.parts[0] == "tests":
            yield path.as_posix(), ast.parse((root / path).read_text("utf-8"))


def skipping(tree: ast.Module) -> Iterator[int]:
    """The lines that skip something."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in SKIPS:
            yield node.lineno
        if isinstance(node, ast.ImportFrom) and SKIPS & {name.name for name in node.names}:
            yield node.lineno


def unseeded(tree: ast.Module) -> Iterator[int]:
    """The lines that throw dice that nobody can throw again."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("random", "secrets"):
            yield node.lineno
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        of = node.func.value
        thrown = node.func.attr != "Random" or not node.args
        if isinstance(of, ast.Name) and of.id == "random" and thrown:
            yield node.lineno


def already_there(tree: ast.Module) -> Iterator[int]:
    """The lines that wait for an end of an address, which the page before may have as well.

    Then nothing is waited for, and what the test does next may meet a page that is on its way out.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr == "wait_for_url" and "'**" in ast.unparse(node.args[0]):
            yield node.lineno


def only_row(tree: ast.Module) -> Iterator[int]:
    """The lines of code for a host that take a table's only row: another test may add a second."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and re.search(r"\.objects\.get\(\)", str(node.value)):
            yield node.lineno


@pytest.mark.parametrize("rule", [skipping, unseeded, already_there, only_row])
def test_no_source_breaks_a_rule_of_the_suite(rule: object) -> None:
    """``tests/needs.py`` is the one place that skips: with CI=true it fails instead."""
    assert callable(rule)
    lines = [f"{path}:{line}" for path, tree in sources() for line in rule(tree)]
    assert [each for each in lines if each.split(":")[0] not in MAY_SKIP] == []


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (skipping, "pytest.importorskip('x')"),
        (skipping, "pytestmark = pytest.mark.skipif(True, reason='x')"),
        (skipping, "from pytest import skip"),
        (unseeded, "random.random()"),
        (unseeded, "random.Random()"),
        (unseeded, "random.SystemRandom()"),
        (unseeded, "from random import shuffle"),
        (only_row, r"CODE = 'team = Team.objects.get(\x29'"),
        (already_there, "page.wait_for_url('**/team/')"),
        (already_there, "page.wait_for_url(f'**{address}')"),
    ],
)
def test_a_planted_line_is_found(rule: object, line: str) -> None:
    assert callable(rule)
    assert list(rule(ast.parse(line))) == [1]


def test_a_seeded_choice_is_fine() -> None:
    assert not list(unseeded(ast.parse("chance = random.Random(7); chance.random()")))


def test_no_example_of_hypothesis_has_a_deadline() -> None:
    assert hypothesis.settings.default is not None
    assert hypothesis.settings.default.deadline is None


SUITE = """
import os, time
from pathlib import Path
import pytest

HERE = Path(os.environ["HERE"])

def run(kind, others, seconds):
    mine = HERE / f"{kind}-{os.getpid()}"
    mine.touch()
    for _ in range(2):
        assert not [path for other in others for path in HERE.glob(f"{other}-*")]
        time.sleep(seconds)
    mine.unlink()

@pytest.mark.parametrize("n", range(40))
def test_together(n):
    run("together", ["apart", "alone"], 0.005)

class TestApart:
    @pytest.mark.apart
    @pytest.mark.parametrize("n", range(10))
    def test_it(self, n):
        run("apart", ["together", "alone"], 0.02)

class TestAlone:
    @pytest.mark.alone
    @pytest.mark.parametrize("n", range(10))
    def test_it(self, n):
        assert not list(HERE.glob("alone-*"))
        run("alone", ["together", "apart"], 0.02)
"""
CONFTEST = """
from tests import conftest, turns

def pytest_configure(config):
    turns.install(config)
    config.addinivalue_line("markers", "alone: x")
    config.addinivalue_line("markers", "apart: x")
"""


@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_test_that_judges_time_chooses_its_company(tmp_path: Path, processes: str) -> None:
    """Side by side with others that would see it; all of them run, in one pass."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(SUITE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-n", processes, str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, timeout=240,
        env={
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(repository.ROOT),
            "HERE": str(tmp_path),
        },
    )  # fmt: skip
    assert "60 passed" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize("kind", [turns.TOGETHER, turns.APART])
def test_others_of_its_kind_run_beside_a_test(tmp_path: Path, kind: str) -> None:
    queue = turns.Turns(tmp_path)
    with queue.turn(kind), queue.turn(kind):
        pass


def test_what_is_marked_by_its_path_is_chosen_by_its_mark() -> None:
    """``make test-quick`` leaves out the rooms that start hosts, as their marks say."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not slow and not soak",
         "tests/acceptance/deploy", "tests/test_proxy.py"],
        cwd=repository.ROOT, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert "tests/test_proxy.py::" in done.stdout, done.stdout + done.stderr
    assert "tests/acceptance" not in done.stdout


def test_long_files_take_turns_with_short_ones_that_end_the_run() -> None:
    """Two processes that wait for hosts at the same time would leave the cores idle."""
    slow, quick = [f"slow {n}" for n in range(10)], [f"quick {n}" for n in range(40)]
    places = conftest.alternating(slow, quick)
    order = sorted(places, key=places.__getitem__)
    assert [file for file in order if file in slow] == slow
    assert [file for file in order if file in quick] == quick
    between = "".join(file[0] for file in order).strip("q").split("s")[1:-1]
    assert {len(files) for files in between} <= {3, 4}
    assert set(order[-6:]) <= set(quick)


def test_the_whole_suite_is_one_pass() -> None:
    """What ``make test`` leaves out are the soak tests, and nothing else."""
    makefile = (repository.ROOT / "Makefile").read_text()
    recipe = makefile.split("\ntest: ")[1].split("\n\n")[0].splitlines()[1:]
    assert len(recipe) == 1
    assert '-m "not soak"' in recipe[0]


def test_what_ci_leaves_out_of_the_suite_has_run_in_make_check() -> None:
    ci, makefile = ((repository.ROOT / name).read_text() for name in (".ci/run", "Makefile"))
    ignored = re.findall(r"--ignore=([\w/]+)", ci)
    assert ignored
    assert f"pytest -q {' '.join(ignored)};" in makefile.split("\ncheck: ")[1].split("\n\n")[0]
    assert ci.index("make check") < ci.index("tests test ")


def test_the_jobs_of_the_suite_are_all_run_by_the_workflow() -> None:
    """``make test JOB=…``: ``unit`` is what the other jobs leave."""
    makefile = (repository.ROOT / "Makefile").read_text()
    jobs = re.findall(r"^JOBS := (.*)$", makefile, re.MULTILINE)[0].split()
    workflow = yaml.safe_load((repository.ROOT / ".github/workflows/ci.yml").read_text())
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["job"] == jobs
    for job in jobs[1:]:
        paths = re.findall(rf"^JOB_{job} := (.*)$", makefile, re.MULTILINE)[0].split()
        assert all((repository.ROOT / path).is_dir() for path in paths)
        assert f"$(JOB_{job})" in makefile.split("JOB_unit := ")[1].splitlines()[0]


def test_the_hooks_before_a_commit_are_the_clones_own_tools() -> None:
    """So they run without another checkout and with the pinned versions."""
    config = yaml.safe_load((repository.ROOT / ".pre-commit-config.yaml").read_text())
    assert {repo["repo"] for repo in config["repos"]} == {"local"}
    for hook in config["repos"][0]["hooks"]:
        assert hook["language"] == "system"
        assert (repository.ROOT / hook["entry"].split()[0]).exists()


def test_what_a_postgresql_version_matters_to_runs_on_the_oldest_too() -> None:
    """The Makefile's list names files that exist, and every test of a migration."""
    makefile = (repository.ROOT / "Makefile").read_text()
    listed = re.search(r"^ON_POSTGRES_15 := ((?:.*\\\n)*.*)$", makefile, re.MULTILINE)
    assert listed
    names = listed[1].replace("\\", "").split()
    assert [name for name in names if not (repository.ROOT / name).exists()] == []
    of_migrations = [
        path
        for path, _ in sources()
        if path.startswith("tests/") and not path.startswith("tests/house/")
        if Path(path).name.startswith("test_")
        if re.search(r"\.migrations\.\d{4}|MigrationExecutor", (repository.ROOT / path).read_text())
    ]
    assert len(of_migrations) >= 2
    assert set(of_migrations) <= set(names)


def hidden(paths: list[Path]) -> list[str]:
    """Modules that no import reaches, since a folder of their name stands beside them."""
    names = {path.as_posix() for path in paths}
    folders = {path.parent.as_posix() for path in paths if path.name == "__init__.py"}
    return sorted(f"{folder}.py" for folder in folders if f"{folder}.py" in names)


def test_no_folder_hides_a_module_of_its_name() -> None:
    assert hidden(repository.files()) == []
    planted = [Path("tests/a.py"), Path("tests/a/__init__.py"), Path("tests/b.py")]
    assert hidden(planted) == ["tests/a.py"]


def test_each_planted_defect_can_still_be_planted() -> None:
    """Its text stands in its file exactly once, and the tests that have to catch it exist."""
    defects = catalogue.defects()
    assert [fault for each in defects for fault in catalogue.faults(each, repository.ROOT)] == []
    assert len(defects) >= 100
    assert len({(each.group, each.name) for each in defects}) == len(defects)


@pytest.mark.parametrize(
    "change",
    [{"old": "no such line\n"}, {"old": "\n"}, {"tests": ["tests/house/test_suite.py::test_none"]},
     {"tests": ["tests/house/test_nothing.py"]}, {"tests": []}],
)  # fmt: skip
def test_a_defect_that_fits_no_more_is_found(change: dict[str, object]) -> None:
    defect = catalogue.defects()[0]
    assert not list(catalogue.faults(defect, repository.ROOT))
    assert len(list(catalogue.faults(defect._replace(**change), repository.ROOT))) == 1
