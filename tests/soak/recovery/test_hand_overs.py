"""A thousand floods of handed starts, in each of which a process is killed or frozen."""

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.acceptance.recovery.handing.flood import FAULTS, handing

pytestmark = [pytest.mark.soak, pytest.mark.timeout(4 * 3600)]
SEEDS = int(os.environ.get("HAND_OVERS", "1000"))


@pytest.mark.parametrize("fault", FAULTS)
def test_hand_overs(fault: str, tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    with handing() as host:
        for seed in range(FAULTS.index(fault), SEEDS, len(FAULTS)):
            folder = tmp_path / str(seed)
            folder.mkdir()
            outcomes += host.play(folder, seed, fault)
    print(fault, dict(outcomes))
