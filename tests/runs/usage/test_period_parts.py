"""A period falls into whole days and the hours around them."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from runs.access.usage.figures import HOUR, Period

HOURS = st.integers(0, 24 * 40).map(lambda n: datetime(2026, 2, 20, tzinfo=UTC) + n * HOUR)


@given(HOURS, st.integers(1, 24 * 31))
def test_its_parts_are_all_of_it_and_days_are_whole(since: datetime, hours: int) -> None:
    period = Period(since, since + hours * HOUR)
    parts = period.parts()
    assert [part.since for part in parts] == [since, *(part.until for part in parts[:-1])]
    assert parts[-1].until == period.until
    for part in parts:
        assert part.has_whole_days or part.until - part.since < timedelta(days=2)
    whole = sum((p.until - p.since for p in parts if p.has_whole_days), timedelta())
    assert period.until - period.since - whole < timedelta(days=2)
