"""The tests that docs/ names as proof: none is left out of a run of the whole suite.

One that is skipped for want of a tool says so itself, and fails where CI=true.
"""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
NAME = re.compile(r"`(tests/[\w/]+\.py(?:::\w+)+)`")
NARROWING = ("keyword", "deselect", "ignore", "ignore_glob", "lf", "stepwise", "collectonly")


def named() -> dict[str, Path]:
    """Each test that a page names, ``path.py::name`` or ``path.py::Class::name``."""
    return {name: page for page in DOCS.rglob("*.md") for name in NAME.findall(page.read_text())}


class NamedTests:
    """Notes which tests ran, and fails a whole run without one of those."""

    def __init__(self) -> None:
        self.ran, self.missing = set[str](), list[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped or (report.when == "call" and report.passed):
            self.ran.add(report.nodeid.split("[")[0])

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        asked, source = session.config.getoption, session.config.args_source
        whole = asked("markexpr") in ("", "not soak") and source is source.TESTPATHS
        if exitstatus == 0 and whole and not any(asked(name, None) for name in NARROWING):
            self.missing = sorted(named().keys() - self.ran)
            session.exitstatus = 1 if self.missing else 0

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for name in self.missing:
            terminalreporter.write_line(f"named in docs/ but did not run: {name}", red=True)
