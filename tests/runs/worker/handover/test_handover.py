"""Whatever the order of events: no run is begun twice, none is forgotten."""

import pytest

from tests.runs.worker.handover.defects import BARE, DEFECTS, SIZES
from tests.runs.worker.handover.search import explore
from tests.runs.worker.handover.states import Rules, Size

# The smallest takes half a second of processor time, each other one some seconds.
LARGE = [pytest.param(name, marks=pytest.mark.slow) for name in SIZES if SIZES[name] != BARE]
SMALL = [name for name in SIZES if SIZES[name] == BARE]


@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_no_order_of_events_breaks_a_promise(name: str) -> None:
    result = explore(Rules(), SIZES[name])
    assert result.broken == "", result.path
    assert result.states > 3_000, "a model in which little happens proves little"
    assert result.ends.keys() >= {"done, begun 1 times", "lost, begun 1 times"}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_noticed(name: str) -> None:
    rules, size, broken = DEFECTS[name]
    assert explore(rules, size).broken == broken


def test_the_search_ends_where_nothing_is_granted() -> None:
    result = explore(Rules(), Size(1, 0, 0, 0, 0, 0, 0))
    assert result.broken == ""
    assert "lost, begun 1 times" not in result.ends
