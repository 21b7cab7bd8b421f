"""Shelves: their values are bounded by bytes, by a share of each team, and by time."""

import threading
from uuid import UUID, uuid4

from agui_host.backends.shelf import Shelf

LOUD, QUIET = uuid4(), uuid4()


class Clock:
    """Moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def shelf(clock: Clock | None = None, **bounds: int) -> Shelf[str, str]:
    return Shelf(**{"process": 100, "team": 50} | bounds, clock=clock or Clock())


def keep(shelf: Shelf[str, str], names: str, team: UUID = LOUD, size: int = 10) -> None:
    for name in names:
        shelf.put(name, name.upper(), team, size)


def remaining(shelf: Shelf[str, str], names: str) -> str:
    return "".join(name for name in names if shelf.get(name))


def test_a_team_drops_its_own() -> None:
    it = shelf()
    keep(it, "q", QUIET)
    keep(it, "abcdefgh")
    assert remaining(it, "qabcdefgh") == "qdefgh"
    assert it.bytes == 60


def test_what_was_used_last_stays() -> None:
    it = shelf()
    keep(it, "abcde")
    assert it.get("a") == "A"
    keep(it, "f")
    assert remaining(it, "abcdef") == "acdef"


def test_all_teams_together_are_bounded() -> None:
    it = shelf(most=3)
    for name in "abcde":
        keep(it, name, uuid4(), 40)
    assert remaining(it, "abcde") == "de"
    for name in "fgh":
        keep(it, name, uuid4(), 1)
    assert remaining(it, "defgh") == "fgh"


def test_what_is_larger_than_a_bound_is_kept_alone() -> None:
    it = shelf()
    keep(it, "a")
    keep(it, "b", size=500)
    assert remaining(it, "ab") == "b"
    keep(it, "c")
    assert remaining(it, "bc") == "c"


def test_a_value_in_the_place_of_another_counts_once() -> None:
    it = shelf()
    keep(it, "aaa")
    assert it.bytes == 10
    assert it.pop("a") == "A"
    assert (it.bytes, len(it), it.pop("a")) == (0, 0, None)


def test_what_is_not_used_for_too_long_is_dropped() -> None:
    clock = Clock()
    it = shelf(clock)
    keep(it, "ab")
    clock.now = 200
    assert it.get("a")
    clock.now = 301
    it.sweep()
    assert remaining(it, "ab") == "a"


def test_also_if_nobody_asks_any_more() -> None:
    it: Shelf[str, str] = Shelf(process=100, team=50, unused=0.01)
    swept = threading.Event()
    sweep = it.sweep

    def and_tell() -> None:
        sweep()
        if not len(it):
            swept.set()

    it.sweep = and_tell  # type: ignore[method-assign]
    keep(it, "ab")
    assert swept.wait(30)
    assert it.bytes == 0
