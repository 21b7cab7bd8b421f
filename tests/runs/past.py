"""Runs of long ago: what ended before its team's retention."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from unittest.mock import patch
from uuid import UUID

from events import partitions
from events.models import Journal
from runs.lifecycle import lifecycle
from runs.models import Run
from tests.cast import Actor, start
from tests.runs.asking import end

JANUARY = date(2024, 1, 1)
_numbers = iter(range(1, 1_000_000))


@contextmanager
def made_in(month: date) -> Iterator[None]:
    """Journals made meanwhile have ids of that month, in the order they are made."""
    partitions.ensure_ahead(month, months=0)

    def make(**_: object) -> Journal:
        return Journal(pk=UUID(int=partitions.first_id(month).int + next(_numbers)))

    with patch.object(lifecycle, "Journal", make):
        yield


def old_run(actor: Actor, month: date = JANUARY, *, begin: bool = True, **body: object) -> Run:
    """A run that was started and ended then; one that did not ``begin`` was cancelled."""
    with made_in(month):
        run = start(actor, **body)
    if begin:
        end(run)
    else:
        lifecycle.cancel(run)
    then = datetime(month.year, month.month, 20, tzinfo=UTC)
    Run.objects.filter(pk=run.pk).update(created_at=then, started_at=then, ended_at=then)
    return Run.objects.select_related("journal", "thread").get(pk=run.pk)
