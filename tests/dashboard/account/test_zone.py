"""One clock: pages write times, and read typed ones, in the zone that the browser told."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.test import RequestFactory
from django.utils import timezone

from agui_host.dashboard.account import zone
from runs.api.listing import box
from runs.models import Run
from tests.cast import Cast, start
from tests.dashboard.conftest import Browse


def zone_of(cookie: str) -> str:
    request = RequestFactory().get("/")
    request.COOKIES[zone.COOKIE] = cookie
    return str(zone.of(request))


@pytest.mark.parametrize(
    ("cookie", "name"),
    [
        ("Asia/Tokyo", "Asia/Tokyo"),
        ("America/Argentina/Salta", "America/Argentina/Salta"),
        ("", "UTC"),
        ("../../etc/passwd", "UTC"),
        ("Mars/Olympus", "UTC"),
        ("x" * 5000, "UTC"),
    ],
)
def test_the_zone_of_a_browser(cookie: str, name: str) -> None:
    assert zone_of(cookie) == name


def test_the_page_names_the_zone_and_reads_typed_times_in_it(cast: Cast, browse: Browse) -> None:
    run = start(cast.alice)
    at = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
    Run.objects.filter(pk=run.pk).update(created_at=at)
    browser = browse(cast.alice)
    typed = "/runs/?since=2026-07-01T20:30&until=2026-07-01T21:30"
    assert f"run-{run.pk}" not in browser.get(typed).content.decode()
    browser.cookies[zone.COOKIE] = "Asia/Tokyo"
    page = browser.get(typed).content.decode()
    assert f'id="run-{run.pk}"' in page
    assert "Times are in Asia/Tokyo." in page


def test_days_begin_at_midnight_of_the_zone() -> None:
    with timezone.override(ZoneInfo("Pacific/Kiritimati")):
        today = box.moment("today")
    assert today is not None
    assert today.astimezone(UTC).hour == 10
