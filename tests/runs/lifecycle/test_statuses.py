"""The status machine: which changes of a run there are, and what its terminal event says."""

import pytest

from events.models import Journal
from runs.lifecycle import lifecycle
from runs.lifecycle.statements import ends
from runs.lifecycle.statuses import MAX_CODE, error_of, leading_to, status_of
from runs.models import ACTIVE, ENDED, EndedRun, Run, Status
from tests.cast import Cast, start

LEGAL = {(Status.QUEUED, Status.RUNNING), (Status.QUEUED, Status.CANCELLED),
         (Status.QUEUED, Status.FAILED), *((Status.RUNNING, end) for end in ENDED)}  # fmt: skip


def test_every_change_but_the_legal_ones_is_refused() -> None:
    assert {(before, after) for after in Status for before in leading_to(after)} == LEGAL


@pytest.mark.django_db
@pytest.mark.parametrize("before", Status)
def test_the_first_end_wins(cast: Cast, before: Status) -> None:
    """A claim needs a queued run, an end a legal one: whoever comes later changes nothing."""
    run = start(cast.alice)
    row = {"status": before, "ended_at": None if before in ACTIVE else run.created_at}
    error = "error" if before == Status.FAILED else ""
    Run.objects.filter(pk=run.pk).update(**row, error_code=error)
    ended = ends.store(run.pk, Status.CANCELLED)
    assert ended == (before in ACTIVE)
    assert Run.objects.get(pk=run.pk).status == (Status.CANCELLED if ended else before)
    assert EndedRun.objects.filter(run_id=run.pk).exists() == ended
    Run.objects.filter(pk=run.pk).update(**row, error_code=error)
    claimed = lifecycle.claim(run.pk)
    assert (claimed is not None) == (before == Status.QUEUED)
    if claimed is None:
        assert Journal.objects.get(pk=run.pk).writer == 0, "the generation is the owner's"


@pytest.mark.parametrize(
    ("terminal", "status"),
    [
        ({"type": "RUN_FINISHED"}, Status.SUCCEEDED),
        ({"type": "RUN_FINISHED", "outcome": None}, Status.SUCCEEDED),
        ({"type": "RUN_FINISHED", "outcome": {"type": "success"}}, Status.SUCCEEDED),
        ({"type": "RUN_FINISHED", "outcome": {"type": "interrupt"}}, Status.INTERRUPTED),
        ({"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}}, Status.CANCELLED),
        ({"type": "RUN_ERROR", "message": "m"}, Status.FAILED),
    ],
)
def test_the_terminal_event_decides(terminal: dict[str, object], status: Status) -> None:
    assert status_of(terminal) == status


def test_an_error_fits_its_columns() -> None:
    assert error_of({"message": "a\0b"}) == {"error_code": "error", "error_message": "ab"}
    long = error_of({"message": "", "code": "c\0" * 100})
    assert long == {"error_code": "c" * MAX_CODE, "error_message": ""}
