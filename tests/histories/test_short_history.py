"""A host and connections to it are hurt for a while: nothing is wrong in what clients received."""

from pathlib import Path

import pytest

from tests.histories import playing
from tests.histories.load.load import Size
from tests.histories.load.readers import ONE_RUN
from tests.histories.load.starting import Posted

FAULTS = ["worker killed", "Valkey killed", "readers cut"]


TRANSPORTS = {kind.transport for kind in (*ONE_RUN, Posted)} | {"one-socket"}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_nothing_is_wrong(data_dir: Path, tmp_path: Path) -> None:
    with playing.a_host(data_dir) as host:
        path = tmp_path / "history.jsonl"
        verdict = playing.play(host, path, seed=7, seconds=15, size=Size(), faults=FAULTS)
    assert verdict.violations == []
    assert verdict.refused == []
    assert verdict.faults.keys() == set(FAULTS), "each fault fired"
    assert verdict.transports.keys() == TRANSPORTS, "each transport was used"
    assert verdict.counts["event"] > 200
    assert verdict.counts["open"] > verdict.counts["end"], "readers were cut and came back"
