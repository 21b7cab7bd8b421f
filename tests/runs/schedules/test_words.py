"""The times of a schedule in words, with its zone."""

from datetime import UTC, datetime

import pytest

from runs.lifecycle.schedules import words
from runs.models import Schedule


@pytest.mark.parametrize(
    ("cron", "sentence"),
    [
        ("0 7 * * 1-5", "Every weekday at 07:00"),
        ("0 7 * * mon,tue,wed,thu,fri", "Every weekday at 07:00"),
        ("0 9 * * *", "Every day at 09:00"),
        ("0 7,19 * * 1", "Every Monday at 07:00 and 19:00"),
        ("0 8 * * mon-wed", "On Monday through Wednesday at 08:00"),
        ("0 6,12,18 * * 6,0", "Every weekend day at 06:00, 12:00, and 18:00"),
        ("0 0 1 * *", "On the first day of every month at 00:00"),
        ("0 7 24 12 *", "On December 24 at 07:00"),
        ("*/15 * * * *", "Every 15th minute of every hour"),
        ("0 9-17 * * 1-5", "At minute 0 past every hour from 9 through 17 every weekday"),
        ("61 * * * *", "61 * * * *"),
    ],
)
def test_a_cron(cron: str, sentence: str) -> None:
    row = Schedule(cron=cron, time_zone="Europe/Berlin")
    assert words.of(row) == f"{sentence}, Europe/Berlin"


def test_one_run_is_in_the_zone_of_the_schedule() -> None:
    at = datetime(2026, 12, 4, 23, 30, tzinfo=UTC)
    row = Schedule(run_at=at, time_zone="Europe/Berlin")
    assert words.of(row) == "Once on 5 Dec 2026 at 00:30, Europe/Berlin"
