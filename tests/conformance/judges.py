"""``python -m tests.conformance.judges``: runs every foreign client and verifier.

It prints a line for each. Judges are the owners' own packages, pinned by the locks; their cases are
the conformance tests themselves. A skipped case counts as a failure: nothing is judged by a client
that did not run.
"""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.house.repository import ROOT

SUITE = "tests/conformance"
NEWEST = os.environ.get("JUDGES_NEWEST", "")
"""The folder of ``make judges-newest``: other versions than those pinned here."""
LOCKS = Path(NEWEST) if NEWEST else ROOT / SUITE
PEERS = LOCKS / "products" / "peers"
"""Locks of the environments of their own, and what runs in them."""
NIGHTLY = ROOT / SUITE / "nightly.md"
"""What the judges came to that continuous integration has no time for."""
NIGHTLY_HEAD = """# Judges that run at night

`make judges` writes this page: what came of the judges that continuous integration has no time for.

"""
ALONE = ["-m", "judge"]
"""The arguments that run these judges alone."""


class Judge(NamedTuple):
    """``package`` is ``npm:NAME`` or ``pypi:NAME``; its cases are those whose id begins so.

    ``peer``: the lock file in ``PEERS`` that pins it, if it has an environment of its own.
    ``nightly``: continuous integration has no time for it, and its newest result is committed.
    """

    package: str
    cases: tuple[str, ...]
    peer: str = ""
    nightly: bool = False

    @property
    def version(self) -> str:
        registry, _, name = self.package.partition(":")
        if self.peer:
            lock = (PEERS / f"{self.peer}.lock").read_text()
            return re.findall(rf"^{self.peer}==([^ ]+)", lock, re.MULTILINE)[0]
        if registry == "pypi":
            return metadata.version(name)
        lock = (LOCKS / "js" / "package-lock.json").read_text()
        locked: Mapping[str, Mapping[str, str]] = json.loads(lock)["packages"]
        return locked[f"node_modules/{name}"]["version"]


def _at(*names: str) -> tuple[str, ...]:
    return tuple(f"{SUITE}/{name}" for name in names)


EXAMPLE = "dialects/test_example_scripts.py::test_a_script_prints_what_its_page_says"
EACH = _at("dialects/test_killed_web", "dialects/test_long_ago", "dialects/test_together")
"""What every client of the matrix goes through."""

JUDGES = (
    Judge("pypi:ag-ui-validate", _at("test_ag_ui_validate", "products/test_ag_ui_corpus")),
    Judge(
        "npm:@ag-ui/client",
        _at("test_csv", "test_host_agent", "test_http_agent", "test_judge.py", "test_scenarios")
        + EACH,
    ),
    Judge("npm:ag-ui-client-0", _at("test_older_clients", "test_scenarios") + EACH),
    Judge("npm:@copilotkit/core", _at("test_copilotkit", "dialects/test_intelligence") + EACH),
    Judge("npm:phoenix", _at("dialects/test_intelligence")),
    Judge("npm:@tanstack/ai-client", _at("dialects/test_tanstack") + EACH),
    Judge("npm:ai", _at("dialects/test_ai_sdk") + EACH),
    Judge("npm:openai", _at("dialects/test_openai") + EACH),
    Judge("pypi:openai", _at("dialects/test_openai_python", f"{EXAMPLE}[openai]") + EACH),
    Judge(
        "npm:@durable-streams/client",
        _at("dialects/test_durable_streams.py::test_the_javascript", "dialects/test_ingest") + EACH,
    ),
    Judge(
        "pypi:durable-streams",
        _at("dialects/test_durable_streams.py::test_the_python_client") + EACH,
    ),
    Judge("pypi:a2a-sdk", _at("dialects/test_a2a") + EACH),
    Judge("pypi:mcp", _at("dialects/test_mcp", f"{EXAMPLE}[mcp-client]") + EACH),
    Judge("npm:@modelcontextprotocol/client", _at("dialects/test_mcp_javascript") + EACH),
    Judge("npm:@modelcontextprotocol/sdk", _at("dialects/test_mcp_javascript") + EACH),
    Judge(
        "npm:@durable-streams/server-conformance-tests",
        _at("products/test_durable_streams_conformance"),
    ),
    Judge("npm:@openai/agents", _at("products/test_openai_agents_javascript")),
    Judge("npm:@a2a-js/sdk", _at("products/test_a2a_javascript")),
    Judge("npm:@modelcontextprotocol/conformance", _at("products/test_mcp_conformance")),
    Judge("pypi:a2a-sdk<1", _at("products/test_a2a_older"), peer="a2a-sdk"),
    Judge("pypi:openai-agents", _at("products/test_openai_agents"), peer="openai-agents"),
    Judge("pypi:scim2-tester", _at("products/test_scim_tester"), peer="scim2-tester"),
    Judge("pypi:langchain", _at("products/test_langchain")),
    Judge("pypi:ag-ui-langgraph", _at("products/test_langgraph")),
    Judge("npm:@assistant-ui/react", _at("products/test_assistant_ui")),
    Judge(
        "pypi:llama-index-protocols-ag-ui",
        _at("products/nightly/test_llama_index"),
        peer="llama-index-protocols-ag-ui",
        nightly=True,
    ),
    Judge(
        "pypi:ag-ui-crewai", _at("products/nightly/test_crewai"), peer="ag-ui-crewai", nightly=True
    ),
    Judge(
        "pypi:open-webui", _at("products/nightly/test_open_webui"), peer="open-webui", nightly=True
    ),
    Judge("npm:compression", _at("dialects/test_compressing_proxy")),
    Judge("npm:@stoplight/spectral-core", _at("test_descriptions")),
    Judge("npm:@asyncapi/parser", _at("test_descriptions")),
    Judge("pypi:standardwebhooks", _at("test_webhooks")),
)
"""A case may have several judges; of two that fit, the one with the longer beginning has it."""


def judges_of(case: str) -> list[Judge]:
    """The judges of a test, by its id."""
    fits = [(judge, each) for judge in JUDGES for each in judge.cases if case.startswith(each)]
    longest = max((len(each) for _, each in fits), default=0)
    return [judge for judge, each in fits if len(each) == longest]


Row = tuple[str, str, str, str]
HEAD: Row = ("judge", "version", "cases", "failures")


class Table:
    """Counts the cases and failures of each judge while the tests run."""

    def __init__(self) -> None:
        self.cases: Counter[Judge] = Counter()
        self.failures: Counter[Judge] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        judges = judges_of(report.nodeid)
        if report.when == "setup":
            self.cases.update(judges)
        if report.failed or report.skipped:
            self.failures.update(judges)

    def rows(self) -> dict[Judge, Row]:
        """A row for each judge; one without cases has failed."""
        rows = {}
        for judge in JUDGES:
            failures = self.failures[judge] or int(not self.cases[judge])
            rows[judge] = (judge.package, judge.version, str(self.cases[judge]), str(failures))
        return rows

    @property
    def lines(self) -> list[str]:
        rows = [HEAD, *self.rows().values()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]

    @property
    def failed(self) -> bool:
        return any(self.failures.values()) or not all(self.cases[judge] for judge in JUDGES)


def nightly_page(rows: Iterable[Row]) -> str:
    """The page of the nightly judges' newest results."""
    table = [HEAD, ("---",) * 4, *rows]
    return NIGHTLY_HEAD + "".join(f"| {' | '.join(row)} |\n" for row in table)


def main(arguments: list[str]) -> int:
    """Run them; 1 if one has a failure. Whole results of nightly judges go to their page."""
    table = Table()
    options = ["-q", "-m", "not soak or judge", f"--ignore={SUITE}/test_judges.py"]
    code = pytest.main([*options, SUITE, *arguments], plugins=[table])
    print("\n", *table.lines, sep="\n")
    if not NEWEST and arguments in ([], ALONE):
        rows = table.rows()
        NIGHTLY.write_text(nightly_page(rows[judge] for judge in JUDGES if judge.nightly))
    return int(bool(code) or table.failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
