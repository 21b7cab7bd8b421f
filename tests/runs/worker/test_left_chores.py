"""A periodic task that died with its worker does not keep the next one from running."""

from collections.abc import Callable

import pytest
from django.db import connection
from procrastinate.contrib.django.models import ProcrastinateJob

from runs.worker import reaper, tasks
from tests.runs.worker.test_reaper import TOO_LATE

SILENCE = "update procrastinate_workers set last_heartbeat = now() - %s * interval '1 s'"


def worker() -> int:
    """A worker of Procrastinate."""
    with connection.cursor() as cursor:
        cursor.execute("delete from procrastinate_jobs")
        cursor.execute("insert into procrastinate_workers default values returning id")
        return int(cursor.fetchone()[0])


def prune() -> None:
    with connection.cursor() as cursor:
        cursor.execute("delete from procrastinate_workers")


def silence() -> None:
    with connection.cursor() as cursor:
        cursor.execute(SILENCE, [TOO_LATE])


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
@pytest.mark.parametrize("end", [prune, silence])
def test_the_next_purge_can_be_fetched(end: Callable[[], None]) -> None:
    job = fetched(worker())
    waiting = int(tasks.purge_what_is_over.defer(timestamp=1))
    reaper.run_once()
    assert ProcrastinateJob.objects.filter(pk=job).exists(), "its worker lives"
    end()
    reaper.run_once()
    assert not ProcrastinateJob.objects.filter(pk=job).exists()
    assert ProcrastinateJob.objects.get(pk=waiting).status == "todo"
