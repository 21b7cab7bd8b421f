"""A periodic task that died with its worker does not keep the next one from running."""

import pytest
from django.db import connection
from procrastinate.contrib.django.models import ProcrastinateJob

from runs.worker import reaper, tasks
from tests.runs.worker.test_reaper import TOO_LATE, beat, bury, worker

__all__ = ["worker"]


def fetched(number: int | None) -> int:
    """A purge that this worker has fetched."""
    job = int(tasks.purge_what_is_over.defer(timestamp=0))
    with connection.cursor() as cursor:
        cursor.execute(
            "update procrastinate_jobs set status = 'doing', worker_id = %s where id = %s",
            [number, job],
        )
    return job


@pytest.mark.django_db
@pytest.mark.parametrize("end", [bury, lambda number: beat(number, TOO_LATE)])
def test_the_next_purge_can_be_fetched(worker: int, end: object) -> None:
    assert callable(end)
    job = fetched(worker)
    waiting = int(tasks.purge_what_is_over.defer(timestamp=1))
    reaper.run_once()
    assert ProcrastinateJob.objects.filter(pk=job).exists(), "its worker lives"
    end(worker)
    reaper.run_once()
    assert not ProcrastinateJob.objects.filter(pk=job).exists()
    assert ProcrastinateJob.objects.get(pk=waiting).status == "todo"
