"""Hypothesis' profiles: whole runs try as many examples as before, quick ones fewer."""

import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest

from tests.suite import profiles
from tests.suite.times import ROOT

CONFTEST = """
from tests.suite import profiles

def pytest_configure(config):
    profiles.install()
"""
SUITE = """
import hypothesis

def test_it():
    settings = hypothesis.settings()
    assert settings.deadline is None
    assert settings.max_examples == {examples}
    assert settings.derandomize is {fixed}
"""


@pytest.mark.parametrize(
    ("options", "ci", "examples"),
    [
        ([], "", 100),
        ([], "true", 100),
        (["--hypothesis-profile", "dev"], "", profiles.EXAMPLES),
        (["--hypothesis-profile", "ci"], "", 100),
    ],
)
def test_an_option_chooses(tmp_path: Path, options: list[str], ci: str, examples: int) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(SUITE.format(examples=examples, fixed=ci == "true"))
    plugin = ["-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, *options, str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, timeout=240,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)} | _ci(ci),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def _ci(value: str) -> dict[str, str]:
    return {"CI": value} if value else {}


def test_this_run_has_one_of_them() -> None:
    assert hypothesis.settings.get_current_profile_name() in {profiles.CI, profiles.DEV}
