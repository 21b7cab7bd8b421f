"""The job of a run: every way of a start puts it in the same queue, with the same trace."""

from collections.abc import Callable

import pytest

from agui_host.backends import tracing
from agui_host.protocol.input import run_agent_input
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team, TeamLimits
from runs.lifecycle import admission, jobs, lifecycle
from runs.lifecycle.statements.agents import AgentChoice
from runs.models import Run
from tests.cast import Cast, start
from tests.runs.jobs import job_of

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
    """A start at once that leaves its job to the function of the longer way."""
    Run.objects.filter(pk=start(cast.alice).pk).update(job_id=None)
    return at_once(cast)


def later(cast: Cast) -> Run:
    """Admitted after its start: then only its id says which request has started it."""
    limits = TeamLimits.objects.create(team=cast.team, concurrent_runs=1)
    first = start(cast.alice)
    run = longer(cast)
    assert run.job_id is None
    limits.delete()
    admission.admit_next(cast.team.pk)
    run.refresh_from_db()
    assert first.job_id != run.job_id
    return run


@pytest.mark.parametrize("begin", [at_once, longer, behind_another, later])
@pytest.mark.parametrize("queue", ["default", "gpu"])
def test_its_queue_and_its_trace(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, queue: str, begin: Callable[[Cast], Run]
) -> None:
    Agent.objects.filter(pk=cast.echo.pk).update(queue=queue)
    monkeypatch.setattr(tracing, "traceparent", lambda: TRACE)
    run = begin(cast)
    job = job_of(run)
    assert job is not None
    assert (job.queue_name, job.task_name) == (jobs.queue_of(queue), jobs.TASK)
    assert job.args == {"run_id": str(run.pk)} | ({} if begin is later else {"traceparent": TRACE})
