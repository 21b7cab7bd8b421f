"""Bytes under way: both bounds, and what is larger than them."""

from agui_host.backends.held import Held, Hold


def test_a_team_has_its_bound_and_the_process_another() -> None:
    ledger = Held(process=100, team=60)
    assert ledger.take("a", 50)
    assert not ledger.take("a", 11), "the team's bound"
    assert ledger.take("b", 50)
    assert not ledger.take("c", 1), "the process's bound"
    ledger.give_back("a", 50)
    assert ledger.take("c", 50)
    assert ledger.bytes == 100


def test_what_is_larger_than_a_bound_fits_alone() -> None:
    ledger = Held(process=100, team=60)
    assert ledger.take("a", 500)
    assert not ledger.take("b", 1)


def test_a_hold_gives_back_all_of_it_once() -> None:
    ledger = Held(process=100, team=60)
    hold = Hold(ledger, "a")
    assert hold.take(40)
    hold.add(200)
    assert not hold.take(1)
    hold.close()
    hold.close()
    assert ledger.bytes == 0
