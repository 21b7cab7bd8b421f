"""Who has room: both ways of a start count the runs that Python's usage counts."""

from typing import Any

import pytest

from agui_host.backends.postgres import clock
from agui_host.protocol.input import run_agent_input
from agui_host.teams.models import Team, TeamLimits
from runs.access.usage import limits
from runs.lifecycle import admission, lifecycle
from runs.lifecycle.statements.agents import AgentChoice
from runs.models import ENDED, Run, Status
from tests.cast import Cast, start

pytestmark = pytest.mark.django_db(transaction=True)
ECHO = AgentChoice("echo", or_default=False, only=None)


def at_once(cast: Cast) -> Run:
    request = run_agent_input.parse({"threadId": "new", "runId": "new"}, agent="echo")
    team = Team.objects.get(pk=cast.team.pk)
    run = lifecycle.start_at_once(team, ECHO, request, started_by=cast.bob.principal)
    assert run is not None
    return run


def longer(cast: Cast) -> Run:
    return start(cast.bob, threadId="new", runId="new")


@pytest.mark.parametrize("begin", [at_once, longer])
@pytest.mark.parametrize("has_stamp", [True, False])
@pytest.mark.parametrize("status", list(Status))
def test_a_start_has_room_beside_a_run(
    cast: Cast, begin: Any, status: Status, has_stamp: bool
) -> None:
    TeamLimits.objects.create(team=cast.team, concurrent_runs=1)
    run = start(cast.alice)
    fields: dict[str, Any] = {"ended_at": clock.now()} if status in ENDED else {}
    fields |= {"error_code": "error"} if status == Status.FAILED else {}
    fields |= {} if has_stamp else {"stamp": None}
    Run.objects.filter(pk=run.pk).update(status=status, **fields)
    used = {use.name: use.used for use in limits.of(Team.objects.get(pk=cast.team.pk))}
    has_room = (used["concurrent_runs"], used["queued_runs"]) == (0, 0)
    assert (begin(cast).stamp is not None) == has_room


@pytest.mark.parametrize("begin", [at_once, longer])
def test_a_team_without_a_limit_has_room_beside_a_whole_batch(
    cast: Cast, begin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longer way took the batch for a limit."""
    monkeypatch.setattr(admission, "BATCH", 1)
    TeamLimits.objects.create(team=cast.team, concurrent_runs=0)
    assert start(cast.alice).stamp is not None
    assert begin(cast).stamp is not None
