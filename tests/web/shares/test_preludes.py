"""Preludes that are kept for the readers who join next."""

from uuid import uuid4

import pytest

from runs.lifecycle import preludes
from runs.lifecycle.preludes import LARGE, NEAR, Kept, Preludes


def test_readers_who_join_near_share_one() -> None:
    store, run = Preludes(), uuid4()
    first = store.keep(run, Kept(100, b"x" * LARGE))
    assert store.near(run, 100) is first
    assert store.near(run, 100 + NEAR) is first, "the log continues from there"
    assert store.near(run, 101 + NEAR) is None
    assert store.near(run, 99) is None
    assert store.near(uuid4(), 100) is None
    assert store.keep(run, Kept(120, b"y" * LARGE)) is first, "made by two threads at once"


def test_small_ones_are_not_kept() -> None:
    store, run = Preludes(), uuid4()
    store.keep(run, Kept(100, b"x"))
    assert store.near(run, 100) is None


def test_all_of_them_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preludes, "MOST_BYTES", 3 * LARGE)
    store, runs = Preludes(), [uuid4() for _ in range(5)]
    for run in runs:
        store.keep(run, Kept(1, b"x" * LARGE))
    assert [store.near(run, 1) is not None for run in runs] == [False, False, True, True, True]
    store.keep(runs[4], Kept(NEAR + 2, b"x" * LARGE))
    assert store.near(runs[2], 1), "a newer one takes the place of the older"
