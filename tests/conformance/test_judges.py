"""Every conformance test has a judge, every judge a version, and the table counts what it sees."""

import pytest

from agui_host import dialects
from tests.conformance.judges import JUDGES, NIGHTLY, SUITE, Table, nightly_page
from tests.house.repository import ROOT

OURS = ("Alpine",)
"""Dialects without a client that somebody else publishes."""


def test_every_case_has_a_judge() -> None:
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / SUITE).rglob("test_*.py")}
    judged = tuple(case.partition("::")[0] for judge in JUDGES for case in judge.cases)
    assert {file for file in files if not file.startswith(judged)} == {f"{SUITE}/test_judges.py"}
    readers = [reader for format in dialects.formats() for reader in format.readers]
    assert {reader.judge for reader in readers if reader.name not in OURS} <= files


def test_every_judge_is_pinned() -> None:
    assert all(judge.version[0].isdigit() for judge in JUDGES)
    assert len({judge.package for judge in JUDGES}) == len(JUDGES)


def test_the_page_names_the_versions_of_products() -> None:
    page = (ROOT / "docs" / "clients.md").read_text("utf-8")
    products = [judge for judge in JUDGES if "/products/" in judge.cases[0]]
    assert products
    assert [judge.package for judge in products if f" | {judge.version} | " not in page] == []


def test_the_newest_result_of_nightly_judges_is_here_and_good() -> None:
    """A version that is raised wants ``make judges``, whose table is committed with it."""
    lines = NIGHTLY.read_text("utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines]
    results = {row[0]: row[1:] for row in rows if len(row) == 4}
    nightly = [judge for judge in JUDGES if judge.nightly]
    assert nightly
    for judge in nightly:
        version, cases, failures = results.pop(judge.package)
        assert (version, failures) == (judge.version, "0")
        assert int(cases) > 0
    assert set(results) == {"judge", "---"}
    assert nightly_page([]) in NIGHTLY.read_text("utf-8")


def test_nightly_judges_are_those_that_are_marked_so() -> None:
    for judge in JUDGES:
        for case in judge.cases:
            file = case.partition("::")[0]
            for path in ROOT.glob(file if file.endswith(".py") else f"{file}*.py"):
                assert ("pytest.mark.judge" in path.read_text("utf-8")) == judge.nightly, path


def test_a_skipped_case_and_a_judge_without_cases_are_failures() -> None:
    table = Table()
    for outcome, case in (("passed", "javascript"), ("skipped", "python")):
        name = f"{SUITE}/dialects/test_durable_streams.py::test_the_{case}_client"
        report = pytest.TestReport(name, ("", 0, ""), {}, outcome, None, "setup")  # type: ignore[arg-type]
        table.pytest_runtest_logreport(report)
    rows = {line.split()[0]: line.split()[2:] for line in table.lines}
    assert rows["npm:@durable-streams/client"] == ["1", "0"]
    assert rows["pypi:durable-streams"] == ["1", "1"]
    assert rows["npm:ai"] == ["0", "1"]
    assert table.failed
