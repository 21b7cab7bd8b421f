"""Whatever the order of events: no run is begun twice, none is forgotten."""

import gc
from collections.abc import Iterator

import pytest

from tests.runs.worker.handover.defects import DEFECTS, LARGE, SIZES
from tests.runs.worker.handover.search import explore
from tests.runs.worker.handover.states import Rules, Size


@pytest.fixture(autouse=True)
def _all_is_needed() -> Iterator[None]:
    """A search keeps each of its states: to look for garbage took a sixth of its time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


MARKED = [pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in SIZES]


@pytest.mark.parametrize("name", MARKED)
def test_no_order_of_events_breaks_a_promise(name: str) -> None:
    result = explore(Rules(), SIZES[name])
    assert result.broken == "", result.path
    assert result.ends.keys() >= {"done, begun 1 times", "lost, begun 0 times"}


def test_the_sizes_are_not_too_small() -> None:
    small = [explore(Rules(), size).states for name, size in SIZES.items() if name not in LARGE]
    assert sum(small) > 20_000, "a model in which little happens proves little"


@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_noticed(name: str) -> None:
    rules, size, broken = DEFECTS[name]
    assert explore(rules, size).broken == broken


def test_each_rule_has_a_defect() -> None:
    planted = {
        field
        for rules, _, _ in DEFECTS.values()
        for field in Rules.__slots__
        if getattr(rules, field) != getattr(Rules(), field)
    }
    assert planted == set(Rules.__slots__)


def test_the_search_ends_where_nothing_is_granted() -> None:
    result = explore(Rules(), Size(credits=0, deaths=False))
    assert result.broken == ""
    assert result.ends.keys() == {"not started, begun 0 times", "done, begun 1 times"}
