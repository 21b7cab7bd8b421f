"""``recovery`` of an agent: in code, in the API, and for which kinds."""

from typing import Any

import pytest
from django.db import IntegrityError

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent
from runs.lifecycle.recovery import handing
from runs.models import Run
from tests.asgi import Answer, ask
from tests.cast import Cast, Register, start

pytestmark = pytest.mark.django_db(transaction=True)


async def change(cast: Cast, slug: str, **values: Any) -> Answer:
    return await ask("PATCH", f"/api/v1/agents/{slug}", cast.alice.headers, json=values)


async def test_it_is_shown_and_changed(cast: Cast) -> None:
    first = (await ask("GET", "/api/v1/agents/echo", cast.alice.headers)).json
    assert (first["recovery"], first["recovery_attempts"], first["recovery_pause"]) == ("end", 5, 1)
    answer = await change(
        cast, "echo", recovery="continue", recovery_attempts=3, recovery_pause=0.5,
        on_code_change="end",
    )  # fmt: skip
    assert answer.status == 200
    row = await db(lambda: cast.echo)
    assert (row.recovery, row.recovery_attempts, row.recovery_pause) == ("continue", 3, 0.5)
    assert (row.continues, row.on_code_change) == (True, "end")


@pytest.mark.parametrize(
    "values",
    [{"recovery": "sometimes"}, {"recovery_attempts": 0}, {"recovery_attempts": 21},
     {"worker_grace": -1}, {"worker_grace": 86_401}, {"worker_grace": "long"},
     {"on_code_change": "ask"}, {"recovery_pause": -1}, {"recovery_pause": 1e9}, {"recoveries": 1}],
)  # fmt: skip
async def test_nonsense_is_refused(cast: Cast, values: dict[str, Any]) -> None:
    assert (await change(cast, "echo", **values)).status == 422


async def test_other_kinds_cannot_continue(cast: Cast) -> None:
    await db(
        lambda: Agent.objects.create(team=cast.team, slug="far", name="far", kind="orchestrator")
    )
    answer = await change(cast, "far", recovery="continue")
    assert (answer.status, answer.json["error"]["details"]) == (422, {"path": "recovery"})


def test_code_says_it(cast: Cast) -> None:
    rules = {"recovery": "continue", "on_code_change": "end", "worker_grace": 3.5}
    registry.agent("lasting", **rules)(lambda ctx: None)  # type: ignore[arg-type]
    (row,) = (row for row in registry.provision(cast.team) if row.slug == "lasting")
    assert (row.recovery, row.on_code_change, row.worker_grace) == ("continue", "end", 3.5)


async def test_a_grace_is_shown_changed_and_taken_back(cast: Cast) -> None:
    assert (await ask("GET", "/api/v1/agents/echo", cast.alice.headers)).json[
        "worker_grace"
    ] is None
    for seconds in (0, 86_400, 2.5, None):
        assert (await change(cast, "echo", worker_grace=seconds)).json["worker_grace"] == seconds
        assert (await db(lambda: cast.echo)).worker_grace == seconds


@pytest.mark.parametrize("seconds", [-1, 86_401, float("nan")])
def test_the_database_bounds_a_grace(cast: Cast, seconds: float) -> None:
    with pytest.raises(IntegrityError, match="agent_worker_grace_bounded"):
        Agent.objects.for_team(cast.team).update(worker_grace=seconds)


def test_the_graces_of_runs(cast: Cast, register: Register) -> None:
    """Runs of agents without a grace have none if they continue; others are not in the result."""
    of_agents = {
        ("end", None): None, ("continue", None): 0.0, ("end", 4.0): 4.0, ("continue", 9.0): 9.0,
    }  # fmt: skip
    runs = {}
    for number, (recovery, seconds) in enumerate(of_agents):
        agent = register(f"a{number}", "scripted", recovery=recovery, worker_grace=seconds)
        runs[recovery, seconds] = start(cast.alice, agent, threadId=f"t{number}", runId="r")
    seconds_of = handing.graces([run.pk for run in runs.values()])
    assert {of: seconds_of.get(run.pk) for of, run in runs.items()} == of_agents


@pytest.mark.parametrize(("of_parent", "seconds"), [(9.0, 9.0), (None, 0.0)])
def test_a_child_that_continues_has_the_time_of_its_parent(
    cast: Cast, register: Register, of_parent: float | None, seconds: float
) -> None:
    parent_agent = register("parent", "scripted", recovery="continue", worker_grace=of_parent)
    parent = start(cast.alice, parent_agent, threadId="t", runId="p")
    graces = {}
    for number, (recovery, own) in enumerate([("continue", None), ("continue", 4.0), ("end", 4.0)]):
        agent = register(f"child{number}", "scripted", recovery=recovery, worker_grace=own)
        child = start(cast.alice, agent, threadId=f"t{number}", runId="c")
        Run.objects.for_team(cast.team).filter(pk=child.pk).update(parent=parent)
        graces[recovery, own] = handing.graces([child.pk])[child.pk]
    assert graces == {("continue", None): seconds, ("continue", 4.0): seconds, ("end", 4.0): 4.0}
