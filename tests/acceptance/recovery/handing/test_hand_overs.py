"""Whoever is killed or frozen under a flood of handed starts: each run begins once, or is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.recovery.handing.flood import FAULTS, Handing, handing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def host() -> Iterator[Handing]:
    with handing() as host:
        yield host


@pytest.mark.parametrize("fault", FAULTS)
def test_no_run_begins_twice_or_waits_for_ever(host: Handing, fault: str, tmp_path: Path) -> None:
    outcomes = host.play(tmp_path, 1, fault)
    print(fault, dict(outcomes))
    assert outcomes["succeeded"] > 40
    assert outcomes["handed"] + outcomes["handed turn"] > 5
    assert outcomes["handed turn"] > 2
