"""The place of a run: every way of a start puts it in the same queue, with the same trace."""

from collections.abc import Callable

import pytest
from django.db import connection
from procrastinate.contrib.django.models import ProcrastinateJob

from agui_host.backends import tracing
from agui_host.protocol.input import run_agent_input
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team, TeamLimits
from runs.lifecycle import admission, jobs, lifecycle
from runs.lifecycle.statements.agents import AgentChoice
from runs.models import Run
from runs.worker import reaper
from tests.cast import Cast, start
from tests.runs.jobs import a_worker, taken_by

pytestmark = pytest.mark.django_db(transaction=True)
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def at_once(cast: Cast) -> Run:
    request = run_agent_input.parse({"threadId": "new", "runId": "new"}, agent="echo")
    choice = AgentChoice("echo", or_default=False, only=None)
    team = Team.objects.get(pk=cast.team.pk)
    run = lifecycle.start_at_once(team, choice, request, started_by=cast.bob.principal)
    assert run is not None
    return run


def longer(cast: Cast) -> Run:
    return start(cast.bob, threadId="new", runId="new")


def behind_another(cast: Cast) -> Run:
    """A start at once that leaves its stamp to the function of the longer way."""
    Run.objects.filter(pk=start(cast.alice).pk).update(stamp=None, due_at=None)
    return at_once(cast)


def later(cast: Cast) -> Run:
    """Admitted after its start."""
    limits = TeamLimits.objects.create(team=cast.team, concurrent_runs=1)
    first = start(cast.alice)
    run = longer(cast)
    assert run.stamp is None
    limits.delete()
    admission.admit_next(cast.team.pk)
    run.refresh_from_db()
    assert first.stamp != run.stamp
    return run


@pytest.mark.parametrize("begin", [at_once, longer, behind_another, later])
@pytest.mark.parametrize("queue", ["default", "gpu"])
def test_its_queue_and_its_trace(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, queue: str, begin: Callable[[Cast], Run]
) -> None:
    Agent.objects.filter(pk=cast.echo.pk).update(queue=queue)
    monkeypatch.setattr(tracing, "traceparent", lambda: TRACE)
    run = begin(cast)
    assert taken_by(a_worker("other"), "other") == []
    assert run in taken_by(a_worker(queue), queue)
    assert Run.objects.get(pk=run.pk).traceparent == TRACE


@pytest.mark.parametrize("begin", [at_once, longer, behind_another, later])
def test_workers_of_the_previous_release_get_a_job(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, begin: Callable[[Cast], Run]
) -> None:
    """While no others serve the queue; a worker of this release adopts those that wait."""
    with connection.cursor() as cursor:
        cursor.execute("insert into procrastinate_workers default values")
    monkeypatch.setattr(tracing, "traceparent", lambda: TRACE)
    run = Run.objects.get(pk=begin(cast).pk)
    assert run.stamp is not None
    assert run.due_at is None
    job = ProcrastinateJob.objects.get(pk=run.job_id)
    assert (job.queue_name, job.task_name, job.lock) == ("runs", jobs.TASK, str(run.thread_id))
    assert job.args == {"run_id": str(run.pk), "traceparent": TRACE}
    assert job.priority == -run.stamp
    assert reaper.run_once() == []
    worker = a_worker()
    jobs.adopt()
    assert not ProcrastinateJob.objects.filter(pk=job.pk).exists()
    assert run in taken_by(worker)
    assert start(cast.alice).job_id is None, "a worker of this release is there"
