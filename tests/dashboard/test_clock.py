"""Times in words on the pages."""

from datetime import UTC, datetime, timedelta

import pytest

from agui_host.backends.postgres import clock as database_clock
from agui_host.dashboard.templatetags import clock

NOW = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)


@pytest.fixture(autouse=True)
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_clock, "now", lambda: NOW)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 ms"),
        (0.34, "340 ms"),
        (4.2, "4.2 s"),
        (185, "3 m 05 s"),
        (7800, "2 h 10 m"),
        (90_000, "25 h 00 m"),
    ],
)
def test_a_length_of_time_has_two_units_at_most(seconds: float, words: str) -> None:
    length = timedelta(seconds=seconds)
    assert clock.spoken(length) == words
    assert clock.span(NOW - length, None) == words
    assert clock.span(NOW, NOW + length) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.5, "just now"),
        (1, "1 s ago"),
        (119, "1 m ago"),
        (7200, "2 h ago"),
        (200_000, "2 d ago"),
        (-5, "just now"),
    ],
)
def test_an_age_has_one_unit(seconds: float, words: str) -> None:
    assert clock.age(NOW - timedelta(seconds=seconds)) == words


def test_what_is_left_and_what_is_out_of_order() -> None:
    assert clock.left(NOW + timedelta(seconds=250)) == "in 4 m 10 s"
    assert clock.left(NOW) == "now"
    assert clock.span(NOW, NOW - timedelta(seconds=9)) == "0 ms"
    assert clock.age(None) == clock.span(None, NOW) == clock.left(None) == clock.iso(None) == ""


def test_an_events_time_is_read_and_written_in_utc() -> None:
    stamp = round(NOW.timestamp() * 1000)
    assert clock.moment(stamp) == NOW
    assert clock.iso(NOW) == "2026-01-02T03:04:05.678+00:00"
    assert clock.moment(None) is clock.moment(10**20) is None
