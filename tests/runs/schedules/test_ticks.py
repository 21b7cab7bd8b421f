"""When schedules are due, on clocks that the test moves: no database."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from agui_host.protocol.errors import Invalid
from runs.lifecycle.schedules import ticks
from runs.lifecycle.schedules.ticks import MOST_MISSED, Cron, decide
from runs.models import Missed

BERLIN = "Europe/Berlin"


def moment(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-{text}+00:00")


def rule(expression: str, zone: str = "UTC") -> Cron:
    return ticks.cron(expression, zone, 60.0)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("0 0 30 2 *", "never fires"),
        ("0 0 31 4,6,9,11 *", "never fires"),
        ("* * * * * *", "five fields"),
        ("* * * *", "five fields"),
        ("@reboot", "five fields"),
        ("", "five fields"),
        ("٣ * * * *", "five fields"),
        ("1," * 100 + "1 * * * *", "five fields"),
        ("60 * * * *", "bad minute"),
        ("0 24 * * *", "bad hour"),
        ("0 0 0 * *", "bad day-of-month"),
        ("0 0 32 2 *", "bad day-of-month"),
        ("0 0 1 13 *", "bad month"),
        ("0 0 * * 8", "bad day-of-week"),
        ("*/0 * * * *", "bad minute"),
        ("5-1 * * * *", "bad minute"),
    ],
)
def test_a_cron_that_is_malformed_or_never_fires_is_refused(expression: str, problem: str) -> None:
    begun = time.process_time()
    with pytest.raises(Invalid, match=problem) as refused:
        rule(expression)
    assert refused.value.details == {"path": "cron"}
    assert time.process_time() - begun < 2


def test_a_host_may_refuse_short_periods() -> None:
    with pytest.raises(Invalid, match="more often than every 3600 seconds"):
        ticks.cron("0,30 9 * * *", "UTC", 3600.0)
    assert ticks.cron("0 * * * *", "UTC", 3600.0)


@pytest.mark.parametrize("name", ["Mars/Olympus", "../../etc/passwd", "/etc/passwd", "", "Europe"])
def test_an_unknown_time_zone_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match="no time zone"):
        rule("0 0 * * *", name)


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        # The clocks skip 02:00 to 03:00 on 29 March, and 02:00 to 03:00 comes twice on 25 October.
        ("30 2 * * *", "03-28T12:00", ["03-29T01:00", "03-30T00:30"]),
        ("30 2 * * *", "10-24T12:00", ["10-25T00:30", "10-26T01:30"]),
        # In the hour that came again, the tick of its first time is over.
        ("30 2 * * *", "10-25T01:10", ["10-26T01:30"]),
        ("*/30 * * * *", "10-25T00:10", ["10-25T00:30", "10-25T01:00", "10-25T01:30"]),
        ("0 9 * * 1-5", "11-20T09:00", ["11-23T08:00"]),
    ],
)
def test_a_cron_keeps_the_clocks_of_its_zone(
    expression: str, after: str, expected: list[str]
) -> None:
    upcoming = rule(expression, BERLIN).upcoming(moment(after), len(expected))
    assert upcoming == [moment(text) for text in expected]
    since = moment("01-01T00:00")
    assert rule(expression, BERLIN).newest(upcoming[-1], len(expected), since) == upcoming


HOURLY, DUE = "0 * * * *", "11-22T10:00"


@pytest.mark.parametrize(
    ("now", "missed", "fired", "following"),
    [
        # In time, and as late as a worker's restart makes it.
        ("11-22T10:00:00.1", Missed.SKIP, ["11-22T10:00"], "11-22T11:00"),
        ("11-22T10:00:59", Missed.SKIP, ["11-22T10:00"], "11-22T11:00"),
        ("11-22T10:00:59", Missed.ALL, ["11-22T10:00"], "11-22T11:00"),
        # Missed, alone or among others.
        ("11-22T10:01:01", Missed.SKIP, [], "11-22T11:00"),
        ("11-22T10:01:01", Missed.ONCE, ["11-22T10:00"], "11-22T11:00"),
        ("11-22T13:30", Missed.SKIP, [], "11-22T14:00"),
        ("11-22T13:30", Missed.ONCE, ["11-22T13:00"], "11-22T14:00"),
        (
            "11-22T13:30",
            Missed.ALL,
            ["11-22T10:00", "11-22T11:00", "11-22T12:00", "11-22T13:00"],
            "11-22T14:00",
        ),
        # The newest is in time.
        ("11-22T13:00:30", Missed.SKIP, ["11-22T13:00"], "11-22T14:00"),
        ("11-22T13:00:30", Missed.ONCE, ["11-22T13:00"], "11-22T14:00"),
        (
            "11-22T12:00:30",
            Missed.ALL,
            ["11-22T10:00", "11-22T11:00", "11-22T12:00"],
            "11-22T13:00",
        ),
    ],
)
def test_missed_ticks(now: str, missed: Missed, fired: list[str], following: str) -> None:
    due: datetime | None = moment(DUE)
    runs = []
    while due is not None and due <= moment(now):
        before = due
        tick, fires, due = decide(rule(HOURLY), due, moment(now), missed)
        assert due is not None
        assert before <= tick < due, "a tick could come twice"
        runs += [tick] if fires else []
    assert runs == [moment(text) for text in fired]
    assert due == moment(following)


@pytest.mark.parametrize("missed", Missed)
def test_a_year_of_missed_minutes_is_bounded(missed: Missed) -> None:
    now, due = moment("11-22T10:00:00.5"), moment("11-22T10:00") - timedelta(days=365)
    begun, runs = time.process_time(), []
    while due <= now:
        tick, fires, following = decide(rule("* * * * *"), due, now, missed)
        runs += [tick] if fires else []
        assert following
        due = following
    expected = {Missed.SKIP: 1, Missed.ONCE: 1, Missed.ALL: MOST_MISSED}
    newest = [now.replace(microsecond=0) - timedelta(minutes=n) for n in range(MOST_MISSED)]
    assert runs[::-1][: expected[missed]] == newest[: expected[missed]]
    assert len(runs) <= expected[missed] + 1  # the minute before is still in time
    assert time.process_time() - begun < 10


@pytest.mark.parametrize(
    ("late", "missed", "fires"),
    [(1, Missed.SKIP, True), (61, Missed.SKIP, False), (61, Missed.ONCE, True),
     (61, Missed.ALL, True)],
)  # fmt: skip
def test_a_single_run_that_was_missed(late: float, missed: Missed, fires: bool) -> None:
    due = datetime(2026, 11, 22, 10, tzinfo=UTC)
    decision = decide(None, due, due + timedelta(seconds=late), missed)
    assert decision == (due, fires, None)
