"""The tests that docs/ names as proof: none is left out of a run of the whole suite.

A proof that was skipped, or that is expected to fail, proves nothing: where CI=true such a run
fails; elsewhere, where a tool may be missing, its closing lines name it.
"""

import os
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
LONG = r" \(soak\)"  # what a page says behind a test that only `make soak` runs
NAME = re.compile(r"`(tests/[\w/]+\.py(?:::\w+)+)`(?!" + LONG + ")")
SOAK = "tests/soak/"  # all tests of this folder are such
NARROWING = ("keyword", "deselect", "ignore", "ignore_glob", "lf", "stepwise", "collectonly")


def named() -> dict[str, Path]:
    """Each test that a page names, ``path.py::name`` or ``path.py::Class::name``."""
    return {name: page for page in DOCS.rglob("*.md") for name in NAME.findall(page.read_text())}


class NamedTests:
    """Notes which tests ran, and fails a whole run without one of those."""

    def __init__(self) -> None:
        self.passed, self.skipped = set[str](), set[str]()
        self.absent, self.unproven = list[str](), list[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.split("[")[0]
        if report.skipped:
            self.skipped.add(name)
        elif report.when == "call" and report.passed:
            self.passed.add(name)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        option, source = session.config.getoption, session.config.args_source
        whole = option("markexpr") in ("", "not soak") and source is source.TESTPATHS
        if exitstatus == 0 and whole and not any(option(name, None) for name in NARROWING):
            expected = {name for name in named() if not name.startswith(SOAK)}
            self.unproven = sorted(expected & self.skipped)
            self.absent = sorted(expected - self.passed - self.skipped)
            strict = os.environ.get("CI") == "true"
            session.exitstatus = 1 if self.absent or (strict and self.unproven) else 0

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for name in self.absent:
            terminalreporter.write_line(f"named in docs/ but did not run: {name}", red=True)
        for name in self.unproven:
            terminalreporter.write_line(f"named in docs/ but skipped: {name}", red=True)
