"""The status machine: which changes of a run there are, and what its terminal event says."""

import itertools

import pytest

from runs.lifecycle.statuses import MAX_CODE, error_of, move, status_of
from runs.models import ACTIVE, ENDED, Run, Status
from tests.cast import Cast, start

LEGAL = {(Status.QUEUED, Status.RUNNING), (Status.QUEUED, Status.CANCELLED),
         (Status.QUEUED, Status.FAILED), *((Status.RUNNING, end) for end in ENDED)}  # fmt: skip


@pytest.mark.django_db
def test_every_change_but_the_legal_ones_is_refused(cast: Cast) -> None:
    run = start(cast.alice)
    moved = set()
    for before, after in itertools.product(Status, Status):
        row = {"status": before, "ended_at": None if before in ACTIVE else run.created_at}
        error = "error" if before == Status.FAILED else ""
        Run.objects.filter(pk=run.pk).update(**row, error_code=error)
        ended = None if after in ACTIVE else run.created_at
        error = "error" if after == Status.FAILED else ""
        if move(run.pk, after, ended_at=ended, error_code=error):
            moved.add((before, after))
            assert Run.objects.get(pk=run.pk).status == after
        else:
            assert Run.objects.get(pk=run.pk).status == before
    assert moved == LEGAL


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
