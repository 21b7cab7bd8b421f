"""The tests that docs/ names as proof: in a run of the whole suite each of them has to pass.

A test that was skipped for want of a tool has said so itself, and fails where CI=true.
"""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
NAME = re.compile(r"`(tests/[\w/]+\.py(?:::\w+)+)`")
NARROWING = ("keyword", "deselect", "ignore", "ignore_glob", "lf", "stepwise", "collectonly")


def named(folder: Path = DOCS) -> dict[str, Path]:
    """Each test that a page names, as ``path.py::name`` or ``path.py::Class::name``."""
    pages = sorted(folder.rglob("*.md"))
    return {name: page for page in pages for name in NAME.findall(page.read_text("utf-8"))}


class NamedTests:
    """The plugin: notes which tests ran, and fails a whole run that left a named one out."""

    def __init__(self) -> None:
        self.ran: set[str] = set()
        self.missing: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped or (report.when == "call" and report.passed):
            self.ran.add(report.nodeid.split("[")[0])

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.OK and is_whole(session.config):
            self.missing = sorted(named().keys() - self.ran)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED if self.missing else exitstatus

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for name in self.missing:
            terminalreporter.write_line(f"named in docs/ but did not run: {name}", red=True)


def is_whole(config: pytest.Config) -> bool:
    """Whether this is a run of everything but the soak tests."""
    paths = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    marks = config.getoption("markexpr") not in ("", "not soak")
    return not (paths or marks or any(config.getoption(name, None) for name in NARROWING))
