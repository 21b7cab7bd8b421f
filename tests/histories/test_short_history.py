"""Connections are cut again and again: nothing is wrong in what clients received."""

from pathlib import Path

import pytest

from tests.histories import playing
from tests.histories.load.load import Size

FAULTS = ["readers cut"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_nothing_is_wrong(data_dir: Path, tmp_path: Path) -> None:
    with playing.a_host(data_dir) as host:
        path = tmp_path / "history.jsonl"
        verdict = playing.play(host, path, seed=7, seconds=12, size=Size(), faults=FAULTS)
    assert verdict.violations == []
    assert verdict.refused == []
    assert verdict.faults.keys() == set(FAULTS), "each fault fired"
    assert verdict.counts["event"] > 200
    assert verdict.counts["open"] > verdict.counts["end"], "readers were cut and came back"
