"""When an alert fires and is resolved, for any course of its values."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from runs.access.alerts.states import CALM, CLEARLY, Situation, after
from runs.models import AlertState

BEGAN = datetime(2026, 11, 27, tzinfo=UTC)
THRESHOLD = 10.0
MINUTE = timedelta(minutes=1)
VALUES = st.lists(
    st.tuples(
        st.one_of(st.none(), st.floats(0, 20)), st.integers(1, 10), st.booleans()
    ),
    max_size=80,
)  # fmt: skip


def firing(situation: Situation) -> bool:
    return situation.state == AlertState.FIRING


@given(steps=VALUES)
def test_it_follows_its_values_and_never_flaps(steps: list[tuple[float | None, int, bool]]) -> None:
    situation, now, high_at, changes = Situation(), BEGAN, None, list[datetime]()
    for value, minutes, snoozed in steps:
        now += minutes * MINUTE
        was, situation = situation, after(situation, value, THRESHOLD, now, snoozed=snoozed)
        high = value is not None and value >= CLEARLY * THRESHOLD
        if high:
            high_at = now
        if firing(situation) != firing(was):
            changes.append(now)
        if firing(situation) and not firing(was):
            assert value is not None
            assert value >= THRESHOLD
            assert not snoozed
        elif firing(was) and not firing(situation):
            assert not high
            assert high_at is not None
            assert now - high_at >= CALM
        elif firing(was):
            assert situation.fired_at == was.fired_at
        elif value is not None and value >= THRESHOLD:
            assert snoozed
    for fired, resolved in zip(changes[::2], changes[1::2], strict=False):
        assert resolved - fired >= CALM


@given(values=st.lists(st.floats(CLEARLY * THRESHOLD, 20), min_size=1))
def test_a_value_that_swings_around_the_threshold_fires_once(values: list[float]) -> None:
    situation = after(Situation(), THRESHOLD, THRESHOLD, BEGAN, snoozed=False)
    for number, value in enumerate(values, 1):
        situation = after(situation, value, THRESHOLD, BEGAN + number * MINUTE, snoozed=False)
        assert situation == Situation(AlertState.FIRING, BEGAN)


def test_calm_is_counted_from_its_first_check() -> None:
    situation = after(Situation(), 12, THRESHOLD, BEGAN, snoozed=False)
    for minute, value, is_firing in ((1, 1, True), (5, None, True), (6, 0, False), (7, 9, False)):
        now = BEGAN + minute * MINUTE
        situation = after(situation, value, THRESHOLD, now, snoozed=False)
        assert firing(situation) is is_firing, minute
