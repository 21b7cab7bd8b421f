"""The list by duration or cost, among the newest runs that pass its filters, and its sums."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.utils import timezone

from agui_host.dashboard import histogram
from agui_host.dashboard.runs_list import sorting
from runs.models import Run, Status
from tests.cast import Cast, start
from tests.dashboard.conftest import Browse
from tests.dashboard.test_runs_list import ids, rows_of

COSTS = (0.1, None, 0.3, 0.2)


@pytest.fixture
def runs(cast: Cast) -> list[Run]:
    """The older, the longer; of these costs."""
    runs, now = [start(cast.alice, threadId=str(n)) for n in range(4)], timezone.now()
    for n, (run, cost) in enumerate(zip(runs, COSTS, strict=True)):
        began = now - timedelta(seconds=40 - 10 * n)
        values = {"status": Status.SUCCEEDED, "started_at": began, "ended_at": now, "cost": cost}
        Run.objects.filter(pk=run.pk).update(**values)
    start(cast.charlie)
    return runs


def test_by_cost_and_by_duration(cast: Cast, browse: Browse, runs: list[Run]) -> None:
    page = browse(cast.vera).get("/runs/?sort=cost&agent=echo").content.decode()
    assert rows_of(page) == ids(runs[2], runs[3], runs[0], runs[1])
    assert "of the newest 2,500 that pass the filters" in page
    links = [unescape(link) for link in re.findall(r'<th[^>]*><a href="([^"]*)"', page)]
    assert links == ["?agent=echo&", "?agent=echo&sort=span"]
    longest = browse(cast.vera).get(f"/runs/{links[1]}").content.decode()
    assert rows_of(longest) == ids(*runs)
    assert 'name="sort" value="span"' in longest
    usual = browse(cast.vera).get("/runs/?sort=whatever").content.decode()
    assert rows_of(usual) == ids(*runs[::-1])


def test_only_among_the_newest(
    cast: Cast, browse: Browse, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorting, "MOST", 2)
    page = browse(cast.vera).get("/runs/?sort=span").content.decode()
    assert rows_of(page) == ids(runs[2], runs[3])


def test_how_long_most_of_them_took(
    cast: Cast, browse: Browse, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histogram, "FEWEST", 3)
    page = browse(cast.vera).get("/runs/").content.decode()
    assert "4 runs, 95 % took at most 30.0 s" in page
