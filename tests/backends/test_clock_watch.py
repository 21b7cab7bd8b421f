"""The database's clock as a process knows it, and the watch that says when its own is wrong."""

import time
from datetime import UTC, datetime

import pytest
from django.db import connection
from structlog.testing import capture_logs

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.clock_watch import ClockWatch
from agui_host.protocol.ids import uuid7_seconds
from tests.runs import clocks

pytestmark = pytest.mark.django_db


def database_time() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("select clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


def wall_clock(monkeypatch: pytest.MonkeyPatch, ahead: float) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + ahead)


@pytest.mark.parametrize("ahead", [300, -300])
def test_a_wall_clock_that_is_set_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, ahead: float
) -> None:
    ClockWatch().run_once()
    wall_clock(monkeypatch, ahead)
    before = database_time()
    now, made = clock.now(), clock.new_id()
    after = database_time()
    slack = 2 * clock.latest.slack + 0.002 if clock.latest else 0.0
    assert before.timestamp() - slack <= now.timestamp() <= after.timestamp() + slack
    assert uuid7_seconds(made) == pytest.approx(now.timestamp(), abs=0.1 + slack)


def test_before_the_first_connection_it_is_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "latest", None)
    assert clock.is_stale()
    assert clock.ahead() is None
    assert clock.now() - datetime.now(UTC) < clock.now().resolution * 1_000_000


def test_a_connection_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "latest", None)
    connection.init_connection_state()
    assert clock.latest is not None
    assert not clock.is_stale()


def test_ids_rise_even_if_the_clock_steps_back_a_little() -> None:
    first = clock.new_id()
    with clocks.ahead(-0.5):
        second = clock.new_id()
    assert second > first
    ids = [clock.new_id() for _ in range(500)]
    assert ids == sorted(ids)


def test_ids_of_a_wrong_clock_do_not_draw_later_ones_along() -> None:
    with clocks.ahead(300):
        wrong = clock.new_id()
    assert clock.new_id() < wrong


def test_the_log_says_when_the_clock_differs_and_when_it_agrees(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = ClockWatch()
    with capture_logs() as logs:
        watch.run_once()
        with monkeypatch.context() as wrong:
            wall_clock(wrong, -60)
            watch.run_once()
            watch.run_once()
        watch.run_once()
    lines = [(line["event"], line.get("seconds_ahead")) for line in logs]
    assert lines == [("clock.differs", pytest.approx(-60, abs=0.5)), ("clock.agrees", None)]


def test_a_reading_that_took_long_replaces_no_recent_one(monkeypatch: pytest.MonkeyPatch) -> None:
    ClockWatch().run_once()
    before = clock.latest
    assert before is not None
    monkeypatch.setattr(clock, "ROUGH", before.slack)
    monkeypatch.setattr(clock, "READ", f"{clock.READ} from pg_sleep({2 * before.slack + 0.1})")
    ClockWatch().run_once()
    assert clock.latest == before
    monkeypatch.setattr(clock, "STALE", 0)
    ClockWatch().run_once()
    assert clock.latest != before


def test_a_second_is_tolerated(monkeypatch: pytest.MonkeyPatch) -> None:
    ClockWatch().run_once()
    wall_clock(monkeypatch, 0.9)
    assert clock.ahead() is None
