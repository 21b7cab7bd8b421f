"""The rows and the job of a run, for tests of its status."""

from django.db import connection
from procrastinate.contrib.django.models import ProcrastinateJob

from events.models import Event, Journal
from runs.models import Run, Thread

FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
FAILED = {"type": "RUN_ERROR", "message": "it broke", "code": "agent_error"}


def rows() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Thread, Run, Journal, Event))


def job_of(run: Run) -> ProcrastinateJob | None:
    job: ProcrastinateJob | None = ProcrastinateJob.objects.filter(pk=run.job_id).first()
    return job


def fetch_job(run: Run) -> None:
    """A worker has taken the job."""
    with connection.cursor() as cursor:
        cursor.execute("insert into procrastinate_workers default values returning id")
        worker = cursor.fetchone()[0]
        cursor.execute(
            "update procrastinate_jobs set status = 'doing', worker_id = %s where id = %s",
            [worker, run.job_id],
        )
