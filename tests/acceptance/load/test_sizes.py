"""The model of docs/sizes.md: it predicts measured figures within 20 %, and its page is its own."""

import pytest

from benchmarks.sizes import __main__ as sizes
from benchmarks.sizes.model import Load, Point, points, size
from tests.acceptance.host import ROOT

MOST = 0.2


@pytest.mark.parametrize("point", points(), ids=lambda point: point.name)
def test_a_measured_figure_is_predicted(point: Point) -> None:
    assert abs(point.error) <= MOST, point.line


def test_an_error_is_noticed() -> None:
    assert abs(Point("runs", "runs/s", 121.0, 100.0, "").error) > MOST


def test_the_page_has_the_table_of_the_model() -> None:
    page = (ROOT / "docs" / "sizes.md").read_text("utf-8")
    assert "\n".join(sizes.table(sizes.PLANS)) in page


def test_more_load_never_needs_less() -> None:
    small, large = size(Load(1, 100, 10)), size(Load(50, 5_000, 1_000))
    assert small.cores < large.cores
    assert small.workers <= large.workers
    assert small.disk_gb_per_day < large.disk_gb_per_day
