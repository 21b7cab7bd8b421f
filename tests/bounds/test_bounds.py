"""Nothing that a tenant sends holds up the others: the table of ``cases.py``, measured."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.bounds.cases import CASES
from tests.conftest import ROOT

LAG = 1.0
MEMORY = 10
FLOOR = 64_000_000
"""Memory that does not count: what is imported late, arenas, the table's own input."""


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    """What each case took. All run one after the other in one child, which forks for each."""
    command = [sys.executable, "-m", "tests.bounds.measure"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(map(json.loads, done.stdout.splitlines()))


@pytest.mark.parametrize("name", CASES)
def test_the_loop_goes_on_and_memory_stays(name: str, measured: dict[str, Any]) -> None:
    outcome = measured[name]
    assert outcome is not None, "it did not come to an end"
    assert not outcome["error"].startswith("unexpected"), outcome["error"]
    assert outcome["lag"] < LAG
    assert outcome["memory"] < max(MEMORY * outcome["size"], FLOOR)
