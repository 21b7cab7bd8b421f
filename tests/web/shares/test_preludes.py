"""Preludes that are kept for the readers who join next."""

from uuid import uuid4

from runs.lifecycle.logs.preludes import LARGE, MOST_BYTES, NEAR, OF_A_TEAM, Kept, Preludes

TEAM = uuid4()


def test_readers_who_join_near_share_one() -> None:
    store, run = Preludes(), uuid4()
    first = store.keep(run, Kept(100, b"x" * LARGE), TEAM)
    assert store.near(run, 100) is first
    assert store.near(run, 100 + NEAR) is first, "the log continues from there"
    assert store.near(run, 101 + NEAR) is None
    assert store.near(run, 99) is None
    assert store.near(uuid4(), 100) is None
    assert store.keep(run, Kept(120, b"y" * LARGE), TEAM) is first, "made by two threads at once"


def test_small_ones_are_not_kept() -> None:
    store, run = Preludes(), uuid4()
    store.keep(run, Kept(100, b"x"), TEAM)
    assert store.near(run, 100) is None


def test_they_are_bounded_in_bytes_for_a_team_and_in_all() -> None:
    store, runs = Preludes(), [uuid4() for _ in range(5)]
    size = OF_A_TEAM // 3
    for run in runs:
        store.keep(run, Kept(1, b"x" * size), TEAM)
    assert [store.near(run, 1) is not None for run in runs] == [False, False, True, True, True]
    store.keep(runs[4], Kept(NEAR + 2, b"x" * size), TEAM)
    assert store.near(runs[2], 1), "a newer one takes the place of the older"
    for _ in range(9):
        store.keep(uuid4(), Kept(1, b"x" * size), uuid4())
    assert store.near(runs[3], 1) is None
    assert store._kept.bytes <= MOST_BYTES
