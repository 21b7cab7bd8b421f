"""The outline of a long run that nobody looks at, stored a step at a time."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from events import outlines, purge
from events.models import OutlinePage
from events.outlines import Storing
from runs.models import Run
from tests.cast import Cast
from tests.runs.api.test_outline import tools, with_log

pytestmark = pytest.mark.django_db(transaction=True)

EVENTS = 12_002


@pytest.fixture
def run(cast: Cast) -> Run:
    """One that has ended."""
    return with_log(cast.alice, tools(4_000))


def stored_by_steps(run: Run) -> list[str]:
    """Store its outline to the end; what readers then get without any event."""
    storing = Storing(run.pk)
    while storing.step():
        pass
    with CaptureQueriesContext(connection) as queries:
        rows = outlines.read(run.pk).rows
    assert not [each for each in queries if "agui_events" in each["sql"]]
    return rows


def folded(run: Run) -> list[str]:
    """The rows as a reader folds them who is the first."""
    rows = outlines.read(run.pk).rows
    OutlinePage.objects.all().delete()
    return rows


def test_each_step_reads_a_bounded_part_of_the_log(run: Run) -> None:
    whole, storing, steps = folded(run), Storing(run.pk), 0
    more = True
    while more:
        with CaptureQueriesContext(connection) as queries:
            more = storing.step()
        assert len([each for each in queries if "agui_events" in each["sql"]]) <= 1
        steps += 1
        assert more == (OutlinePage.objects.count() == 0), "stored at once, at the end"
    assert steps == EVENTS // outlines.STEP_EVENTS + 2
    assert stored_by_steps(run) == whole
    assert run.pk not in {key for key, _ in outlines._growing}


def test_a_long_one_is_stored_in_parts_and_continued_after_a_kill(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outlines, "STORED_AT_ONCE", 4_000)
    whole, killed = folded(run), Storing(run.pk)
    for _ in range(3):
        assert killed.step()
    assert outlines._stored(run.pk)["seq"] == 4_000
    with CaptureQueriesContext(connection) as queries:
        assert stored_by_steps(run) == whole
    read = [each for each in queries if "agui_events" in each["sql"]]
    assert len(read) == EVENTS // outlines.STEP_EVENTS + 1 - 2


def test_a_reader_who_is_faster_is_not_overwritten(run: Run) -> None:
    whole, storing = folded(run), Storing(run.pk)
    assert storing.step()
    assert outlines.read(run.pk, seconds=0).head == outlines.STEP_EVENTS
    assert storing.step()
    assert outlines.read(run.pk).rows == whole
    assert not storing.step()
    assert outlines.read(run.pk).rows == whole
    assert not Storing(run.pk).step(), "nothing to do"


def test_nothing_stays_of_a_run_that_is_purged_meanwhile(run: Run) -> None:
    storing = Storing(run.pk)
    assert storing.step()
    purge.doom([run.pk])
    Run.objects.filter(pk=run.pk).update(purged_at=timezone.now())
    assert not storing.step()
    assert not OutlinePage.objects.exists()


def test_a_run_that_has_not_ended_is_left_alone(cast: Cast) -> None:
    run = with_log(cast.alice, list(tools(1_000))[:-1])
    assert not Storing(run.pk).step()
    assert not OutlinePage.objects.exists()


def test_one_with_more_rows_than_a_process_keeps_is_left_to_its_readers(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = folded(run)
    monkeypatch.setattr(outlines, "CACHED_ROWS", 1_000)
    storing = Storing(run.pk)
    while storing.step():
        pass
    assert outlines._stored(run.pk)["seq"] == 2 * outlines.STEP_EVENTS
    assert not Storing(run.pk).step()
    assert outlines.read(run.pk).rows == whole
