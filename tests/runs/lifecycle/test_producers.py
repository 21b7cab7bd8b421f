"""Which batch may be appended."""

import pytest

from runs.lifecycle.ingest.producers import Place, SequenceGap, StaleEpoch, is_new

STORED = Place("p", 2, 5)


@pytest.mark.parametrize(
    ("place", "new"),
    [
        (Place("p", 2, 6), True),
        (Place("p", 2, 5), False),
        (Place("p", 2, 0), False),
        (Place("p", 3, 0), True),
        (Place("q", 3, 0), True),
    ],
    ids=["next", "again", "long ago", "restarted", "taken over"],
)
def test_a_batch_is_new_once(place: Place, new: bool) -> None:
    assert is_new(STORED, place) is new


@pytest.mark.parametrize("place", [Place("p", 1, 9), Place("q", 2, 6)], ids=["older", "a twin"])
def test_a_producer_that_was_replaced_learns_it(place: Place) -> None:
    with pytest.raises(StaleEpoch) as refused:
        is_new(STORED, place)
    assert refused.value.headers == {"producer-epoch": "2"}


@pytest.mark.parametrize(
    ("place", "expected"), [(Place("p", 2, 7), 6), (Place("p", 3, 1), 0), (Place("q", 9, 2), 0)]
)
def test_a_gap_says_which_batch_comes_next(place: Place, expected: int) -> None:
    with pytest.raises(SequenceGap) as refused:
        is_new(STORED, place)
    assert refused.value.details == {"expected": expected}
    assert refused.value.headers == {
        "producer-expected-seq": str(expected), "producer-received-seq": str(place.seq),
    }  # fmt: skip


def test_only_a_known_place_is_confirmed() -> None:
    assert STORED.headers == {"producer-epoch": "2", "producer-seq": "5"}
    assert Place("", -1, -1).headers == {}
