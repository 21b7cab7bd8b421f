"""Nothing that a tenant sends holds up the others: the table of ``cases.py``, measured."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.bounds.cases import CASES
from tests.conftest import ROOT

pytestmark = pytest.mark.timeout(900)
LAG = 1.0
"""Seconds, of a machine where ``python3 -m timeit 'sum(range(100000))'`` says 1 ms."""
MEMORY = 10
FLOOR = 64_000_000
"""Memory that does not count: what is imported late, arenas, the table's own input."""


@pytest.fixture(scope="module")
def measured(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What each chosen case took; one that lagged is measured twice.

    A machine that stands still for a second once does so in another case the next time.
    """
    chosen = [item.callspec.params["name"] for item in request.session.items if is_here(item)]
    outcomes = measure(chosen)
    late = [name for name, outcome in outcomes.items() if outcome and outcome["lag"] >= LAG]
    return outcomes | (measure(late) if late else {})


def measure(names: list[str]) -> dict[str, Any]:
    """The outcomes of these cases: one after the other in one child, which forks for each."""
    command = [sys.executable, "-m", "tests.bounds.measure", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(map(json.loads, done.stdout.splitlines()))


def is_here(item: pytest.Item) -> bool:
    """Whether it is a test of this file."""
    return item.nodeid.startswith("tests/bounds/")


@pytest.mark.parametrize("name", CASES)
def test_the_loop_goes_on_and_memory_stays(name: str, measured: dict[str, Any]) -> None:
    outcome = measured[name]
    assert outcome is not None, "it did not come to an end"
    assert not outcome["error"].startswith("unexpected"), outcome["error"]
    assert outcome["lag"] < LAG
    assert outcome["memory"] < max(MEMORY * outcome["size"], FLOOR)
