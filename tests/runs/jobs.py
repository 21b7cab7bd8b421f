"""The rows of a run, and workers that take it, for tests of its status."""

from django.db import connection

from events.models import Event, Journal
from runs.models import Run, Thread
from runs.worker.taking import registration
from runs.worker.taking.take import take

FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
FAILED = {"type": "RUN_ERROR", "message": "it broke", "code": "agent_error"}


def rows() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Thread, Run, Journal, Event))


def a_worker(*queues: str) -> int:
    """A live worker of these queues; by default of the usual one."""
    return registration.register(queues or ["default"], 1)


def taken_by(worker: int, *queues: str, most: int = 100) -> list[Run]:
    """The runs that a worker takes now."""
    return [Run.objects.get(pk=run.run) for run in take(worker, queues or ["default"], most)]


def give(run: Run, worker: int | None) -> None:
    """A worker has the run; None: nobody has it, and nobody is to take it."""
    Run.objects.filter(pk=run.pk).update(worker=worker, due_at=None)


def silence(worker: int, seconds: float) -> None:
    """The last heartbeat was so many seconds ago."""
    with connection.cursor() as cursor:
        cursor.execute(
            "update runs_worker set heartbeat = now() - make_interval(secs => %s) where id = %s",
            [seconds, worker],
        )


def gone(worker: int) -> None:
    """The worker's registration was deleted."""
    with connection.cursor() as cursor:
        cursor.execute("delete from runs_worker where id = %s", [worker])
