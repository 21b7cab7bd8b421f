"""The one clock of the pages: the browser's zone, or UTC for visitors who switch to it."""

import re

import pytest

from tests.cast import Cast, start
from tests.dashboard.conftest import Browse

pytestmark = pytest.mark.django_db(transaction=True)

ZONE = re.compile(r"Times are in ([\w/]+)")


def test_a_visitor_switches_to_utc_and_back(cast: Cast, browse: Browse) -> None:
    start(cast.alice)
    browser = browse(cast.alice)
    browser.cookies["zone"] = "Asia/Tokyo"
    page = browser.get("/runs/?status=queued").content.decode()
    assert ZONE.findall(page) == ["Asia/Tokyo"]
    assert "Show UTC" in page
    assert "data-zone" not in page
    answer = browser.post("/clock", {"clock": "utc", "next": "/runs/?status=queued"})
    assert answer["Location"] == "/runs/?status=queued"
    assert answer.cookies["clock"]["httponly"]
    page = browser.get("/runs/").content.decode()
    assert ZONE.findall(page) == ["UTC"]
    assert 'data-zone="UTC"' in page
    assert "Show Asia/Tokyo" in page
    browser.post("/clock", {"clock": "local"})
    assert ZONE.findall(browser.get("/runs/").content.decode()) == ["Asia/Tokyo"]


def test_the_switch_leads_to_no_other_site(cast: Cast, browse: Browse) -> None:
    for place in ("https://evil.example/", "//evil.example/", ""):
        answer = browse(cast.vera).post("/clock", {"clock": "utc", "next": place})
        assert answer["Location"] == "/"
    assert browse(cast.vera).get("/clock")["Location"] == "/"


def test_a_browser_in_utc_has_nothing_to_switch(cast: Cast, browse: Browse) -> None:
    browser = browse(cast.alice)
    browser.cookies["zone"] = "UTC"
    assert "Show UTC" not in browser.get("/runs/").content.decode()
