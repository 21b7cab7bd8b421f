"""What the suite takes, by job and by file: ``make times``, after a ``make test``.

Each run notes seconds of its tests, with their fixtures, and the CPU time of the process that ran
them and of the processes that ended meanwhile. A server's CPU time counts where it is stopped. On a
busy machine only CPU time can be compared.
"""

import json
import os
import re
import sys
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.suite.warm import client

ROOT = Path(__file__).resolve().parents[2]
NAME = "agui/times"
"""In pytest's cache; a run replaces the lines of the files that it ran."""
STORED = ROOT / ".pytest_cache" / "v" / NAME
SLOWEST = 25
REST = "unit"
"""The job of all files that belong to no other one."""


class Cost(NamedTuple):
    """Tests, and their seconds by the clock and of CPU."""

    tests: int
    seconds: float
    cpu: float


def total(costs: Iterable[Cost]) -> Cost:
    """The sum of several."""
    rows = list(costs)
    return Cost(sum(r.tests for r in rows), sum(r.seconds for r in rows), sum(r.cpu for r in rows))


class Clock:
    """In a process that runs tests: notes in a test's last report the CPU time that it took."""

    started = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, bool, bool]:
        self.started = _cpu()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            report.cpu = _cpu() - self.started
        return report


class Times:
    """In the process that hands tests out: adds the reports up, and stores them."""

    def __init__(self, config: pytest.Config) -> None:
        self.cache = config.cache
        self.files: dict[str, Cost] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file = report.nodeid.split("::")[0]
        last = report.when == "teardown"
        cost = Cost(int(last), report.duration, getattr(report, "cpu", 0.0) if last else 0.0)
        self.files[file] = total([self.files.get(file, Cost(0, 0, 0)), cost])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # A part of a file would look like a fast one.
        narrow = any(session.config.getoption(name, None) for name in ("keyword", "lf"))
        narrow = narrow or any("::" in name for name in session.config.args)
        if self.cache and self.files and not narrow:
            self.cache.set(NAME, {**self.cache.get(NAME, {}), **self.files})


def jobs() -> dict[str, list[str]]:
    """The folders of each job, as the Makefile has them; those of ``unit`` are all others."""
    makefile = (ROOT / "Makefile").read_text()
    names = re.findall(r"^JOBS := (.*)$", makefile, re.MULTILINE)[0].split()
    return {
        name: re.findall(rf"^JOB_{name} := (.*)$", makefile, re.MULTILINE)[0].split()
        for name in names
        if name != REST
    }


def job_of(file: str, folders: dict[str, list[str]]) -> str:
    """The job that runs this file."""
    return next(
        (job for job, names in folders.items() if any(file.startswith(f"{n}/") for n in names)),
        REST,
    )


def lines(files: dict[str, Cost]) -> list[str]:
    """The two tables."""
    folders = jobs()
    by_job = {
        job: total(cost for file, cost in files.items() if job_of(file, folders) == job)
        for job in (REST, *folders)
    }
    slowest = sorted(files.items(), key=lambda pair: -pair[1].seconds)[:SLOWEST]
    return [
        "tests  seconds  CPU seconds",
        *(_line(name, cost) for name, cost in by_job.items()),
        _line("all", total(files.values())),
        "",
        *(_line(name, cost) for name, cost in slowest),
    ]


def _line(name: str, cost: Cost) -> str:
    return f"{cost.tests:5} {cost.seconds:8.1f} {cost.cpu:12.1f}  {name}"


def _cpu() -> float:
    times = os.times()
    ours = times.user + times.system + times.children_user + times.children_system
    return ours + client.Server.cpu


def main(path: Path = STORED) -> None:
    """Print what the stored runs took."""
    try:
        stored = json.loads(path.read_text())
    except FileNotFoundError:
        sys.exit("No run has been timed yet: make test")
    print("\n".join(lines({file: Cost(*cost) for file, cost in stored.items()})))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
