"""A host and connections to it are hurt for a while: nothing is wrong in what clients received."""

from pathlib import Path

import pytest

from tests.histories import hosts, playing
from tests.histories.faults import FAULTS
from tests.histories.load.dialects import DIALECTS
from tests.histories.load.load import ALL, Size
from tests.histories.load.starting import Posted

SHORT = ["worker killed", "Valkey killed", "readers cut", "connections swallowed"]


TRANSPORTS = {kind.transport for kind in (*ALL, Posted)} | {"one-socket"}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_nothing_is_wrong(tmp_path: Path) -> None:
    faults = {name: FAULTS[name] for name in SHORT}
    with hosts.a_host(plain=True) as place:
        path = tmp_path / "history.jsonl"
        verdict = playing.play(place, path, seed=7, seconds=15, size=Size(), faults=faults)
    assert verdict.violations == []
    assert verdict.refused == []
    assert verdict.faults.keys() == set(SHORT), "each fault fired"
    assert verdict.transports.keys() == TRANSPORTS, "each transport was used"
    assert verdict.dialects.keys() == {kind.dialect for kind in DIALECTS}, "and each dialect"
    assert verdict.counts["event"] > 200
    assert verdict.counts["open"] > verdict.counts["end"], "readers were cut and came back"
    for kind in ("batch", "answer", "delivery", "tick"):
        assert verdict.counts[kind] >= 2, kind
