"""An agent's runs are for the workers that serve its queue."""

import pytest
from django.core.management.base import CommandError
from django.db import IntegrityError, connection, transaction

from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent
from runs.lifecycle import jobs
from runs.management.commands.run_worker import Command
from runs.models import Run
from tests.asgi import ask_now
from tests.cast import Cast, Register, start
from tests.runs.jobs import job_of

pytestmark = pytest.mark.django_db(transaction=True)
FETCH = "select id from procrastinate_fetch_job_v2(%s, %s)"


def taken_by(*queues: str) -> list[int]:
    """The jobs that a worker fetches, as ``run_worker --queues`` has it."""
    names = [jobs.queue_of(name) for name in queues]
    ids = []
    with connection.cursor() as cursor:
        cursor.execute("insert into procrastinate_workers default values returning id")
        worker = cursor.fetchone()[0]
        while True:
            cursor.execute(FETCH, [names, worker])
            (job,) = cursor.fetchone()
            if job is None:
                return ids
            ids.append(job)


def queue_of(run: Run) -> str:
    job = job_of(run)
    assert job
    return str(job.queue_name)


def test_workers_take_the_runs_of_their_queues(cast: Cast, register: Register) -> None:
    with connection.cursor() as cursor:
        cursor.execute("delete from procrastinate_jobs")  # of earlier tests
    gpu = register("heavy", lambda ctx: "", queue="gpu")
    plain, heavy, third = start(cast.alice), start(cast.alice, gpu), start(cast.alice, gpu)
    assert [queue_of(run) for run in (plain, heavy)] == ["runs", "runs:gpu"]
    assert taken_by("default") == [plain.job_id]
    assert taken_by("gpu", "default") == [heavy.job_id, third.job_id]


def test_a_queue_is_set_over_the_api_and_in_code(cast: Cast) -> None:
    url = "/api/v1/agents/echo"
    assert ask_now("GET", url, cast.alice.headers).json["queue"] == "default"
    changed = ask_now("PATCH", url, cast.alice.headers, json={"queue": "gpu-2"})
    assert changed.json["queue"] == "gpu-2"
    assert queue_of(start(cast.alice)) == "runs:gpu-2"
    for name in ("", "GPU", "a b", "-"):
        refused = ask_now("PATCH", url, cast.alice.headers, json={"queue": name})
        assert refused.status == 422, name
        with pytest.raises(IntegrityError), transaction.atomic():
            Agent.objects.filter(pk=cast.echo.pk).update(queue=name)
    registry.agent("code", queue="gpu")(lambda ctx: "")
    rows = {row.slug: row.queue for row in registry.provision(cast.team)}
    assert rows["code"] == "gpu"


def test_which_queues_a_worker_serves() -> None:
    parser = Command().create_parser("manage.py", "run_worker")
    assert parser.parse_args([]).queues == ["default"]
    assert parser.parse_args(["--queues", "gpu, default,gpu"]).queues == ["gpu", "default"]
    for wrong in ("", "GPU", "gpu;cpu"):
        with pytest.raises((CommandError, SystemExit)):
            parser.parse_args(["--queues", wrong])
