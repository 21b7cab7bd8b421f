"""A key for some agents: it runs those, and sees the threads in which nobody else has answered."""

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.models import Agent
from agui_host.teams import keys
from agui_host.teams.authentication import resolve
from agui_host.teams.models import Role
from runs.access import access
from runs.models import Run, Thread
from tests.asgi import Answer, ask_now, watch
from tests.cast import Cast, start
from tests.runs.asking import asking

pytestmark = pytest.mark.django_db(transaction=True)
RUNS = "/api/v1/runs"


@pytest.fixture
def limited(cast: Cast) -> dict[str, str]:
    """What a program sends whose key is for the agent ``ours`` only."""
    Agent.objects.create(team=cast.team, slug="ours", name="Ours", target="echo")
    text = keys.create_key(cast.team, "ci", Role.MEMBER, agents=["ours"])[1]
    return {"authorization": f"Bearer {text}"}


def begin(headers: dict[str, str], agent: str | None, **body: str) -> Answer:
    return ask_now("POST", RUNS, headers, json={"agent": agent, "input": body})


def test_it_runs_its_agents_only(cast: Cast, limited: dict[str, str]) -> None:
    assert begin(limited, "ours").status == 202
    for agent in ("echo", None):  # the team's default is not for this key, either
        answer = begin(limited, agent)
        assert (answer.status, answer.code) == (404, "unknown_agent")
    agent_list = ask_now("GET", "/agui/info", limited).json["agents"]
    assert set(agent_list) == {"ours"}


def test_lists_and_single_runs(cast: Cast, limited: dict[str, str]) -> None:
    ours = Agent.objects.get(slug="ours")
    mine = start(cast.alice, ours, threadId="mine")
    theirs = start(cast.alice, threadId="theirs")
    listed = [run["id"] for run in ask_now("GET", RUNS, limited).json["results"]]
    assert listed == [str(mine.pk)]
    threads = ask_now("GET", "/agui/threads", limited).json["threads"]
    assert [thread["id"] for thread in threads] == ["mine"]
    for what in ("", "/events"):
        assert ask_now("GET", f"{RUNS}/{mine.pk}{what}", limited).status == 200
        assert ask_now("GET", f"{RUNS}/{theirs.pk}{what}", limited).status == 404
    assert ask_now("POST", f"{RUNS}/{theirs.pk}/cancel", limited).status == 404
    assert ask_now("GET", "/agui/threads/theirs/state", limited).json == {"state": None}


def test_a_thread_where_somebody_else_has_answered_is_not_for_it(
    cast: Cast, limited: dict[str, str]
) -> None:
    begin(limited, "ours", threadId="t")
    principal = resolve(limited, {})
    assert access.visible(principal).count() == access.visible_threads(principal).count() == 1
    start(cast.alice, threadId="t", onBusy="enqueue")
    assert not access.visible(principal).exists()
    assert access.find_thread(principal, "t") is None
    assert not access.readable(principal, [Run.objects.earliest("journal_id").pk])
    answer = begin(limited, "ours", threadId="t")
    assert (answer.status, answer.code) == (403, "forbidden")
    assert (Run.objects.count(), Thread.objects.count()) == (2, 1)


def test_questions(cast: Cast, limited: dict[str, str]) -> None:
    asking(cast.alice, "q", thread="theirs")
    assert ask_now("GET", "/api/v1/interrupts", cast.bob.headers).json["results"]
    assert not ask_now("GET", "/api/v1/interrupts", limited).json["results"]


async def test_sockets(cast: Cast, limited: dict[str, str], bell: None) -> None:
    theirs = await db(start, cast.alice)
    assert await watch(f"/ws/runs/{theirs.pk}/", limited) == ([], 4404)
