"""The suite's times: every test counts once, in its file and in its job."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite import times
from tests.suite.times import ROOT, Cost

CONFTEST = """
from tests.suite import times

def pytest_configure(config):
    config.pluginmanager.register(times.Clock())
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(times.Times(config))
"""
SUITE = """
import subprocess, sys, time
import pytest

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

@pytest.fixture
def dear():
    burn(0.2)
    yield
    subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.3: pass"])

def test_dear(dear):
    pass

def test_cheap():
    pass
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text(SUITE)
    return tmp_path


def run(suite: Path, *args: str) -> dict[str, Cost]:
    """What is stored after a run."""
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "--rootdir=.", *args],
        cwd=suite, check=True, timeout=240,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    path = suite / ".pytest_cache" / "v" / times.NAME
    return {file: Cost(*cost) for file, cost in json.loads(path.read_text()).items()}


@pytest.mark.parametrize("processes", ["0", "2"])
def test_fixtures_and_ended_processes_are_included(suite: Path, processes: str) -> None:
    files = run(suite, "-n", processes)
    assert files.keys() == {"test_a.py", "test_b.py"}
    for cost in files.values():
        assert cost.tests == 2
        assert 0.45 <= cost.cpu < 5  # os.times counts hundredths
        assert cost.seconds >= 0.5


def test_a_run_of_one_file_replaces_its_line_only(suite: Path) -> None:
    before = run(suite, "-n", "0")
    (suite / "test_b.py").write_text("def test_one(): pass")
    after = run(suite, "-n", "0", "test_b.py")
    assert after["test_a.py"] == before["test_a.py"]
    assert after["test_b.py"].tests == 1


def test_a_part_of_a_file_replaces_nothing(suite: Path) -> None:
    before = run(suite, "-n", "0")
    assert run(suite, "-n", "0", "-k", "cheap") == before
    assert run(suite, "-n", "0", "test_a.py::test_cheap") == before


def test_each_file_has_one_job() -> None:
    folders = times.jobs()
    assert times.job_of("tests/tenancy/test_doors.py", folders) == "tenancy"
    assert times.job_of("tests/agui_client/test_reader.py", folders) == "conformance"
    assert times.job_of("tests/tenancy_of_others/test_it.py", folders) == "unit"


def test_the_tables_add_up() -> None:
    printed = times.lines(
        {
            "tests/runs/test_a.py": Cost(3, 1.5, 1),
            "tests/bounds/test_b.py": Cost(2, 2, 0.5),
            "tests/events/test_c.py": Cost(1, 3, 0.25),
        }
    )
    tables = [line.split() for line in printed]
    assert ["4", "4.5", "1.2", "unit"] in tables
    assert ["2", "2.0", "0.5", "tenancy"] in tables
    assert ["6", "6.5", "1.8", "all"] in tables
    assert [line[-1] for line in tables[-3:]] == [
        "tests/events/test_c.py", "tests/bounds/test_b.py", "tests/runs/test_a.py",
    ]  # fmt: skip
