"""What clients see of limits: their values, their use, and refusals that say when to come back."""

from contextlib import AsyncExitStack

import pytest

from agui_project.bridge import db
from runs.models import Run
from teams.models import TeamLimits
from tests.asgi import Exchange, ask, ask_now, watch
from tests.cast import Cast, start
from tests.runs.starting import JSON, STARTS, nothing_written, post, refused

pytestmark = pytest.mark.django_db(transaction=True)

SSE = {"accept": "text/event-stream"}


def test_each_limit_with_its_value_and_use(cast: Cast) -> None:
    TeamLimits.objects.create(team=cast.team, concurrent_runs=1, stored_bytes=0)
    for _ in range(2):
        start(cast.alice)
    answer = ask_now("GET", "/api/v1/limits", cast.vera.headers)
    assert answer.status == 200
    found = {use["name"]: (use["max"], use["used"]) for use in answer.json["limits"]}
    assert found["concurrent_runs"] == (1, 1)
    assert found["queued_runs"][1] == 1
    assert found["runs_per_minute"][1] == 2
    assert found["stored_bytes"] == (None, 0)
    assert found["open_streams"][1] == 0
    assert found["run_seconds"][1] is None
    charlies = ask_now("GET", "/api/v1/limits", cast.charlie.headers).json["limits"]
    assert {use["used"] for use in charlies} == {0, None}, "another team's runs are not counted"


@pytest.mark.parametrize("path", STARTS)
def test_a_refused_start_is_a_429_that_names_the_limit(cast: Cast, path: str) -> None:
    TeamLimits.objects.create(team=cast.team, runs_per_minute=1)
    start(cast.alice)
    with nothing_written():
        answer = post(path, b'{"messages": []}', cast.alice.headers)
    assert refused(answer, 429, "limit_reached") == {"limit": "runs_per_minute", "max": 1}
    assert 0 < int(answer.headers["retry-after"]) <= 60


async def test_one_stream_too_many(cast: Cast, bell: None, writer: object) -> None:
    await db(TeamLimits.objects.create, team=cast.team, open_streams=2)
    run = await db(start, cast.alice, threadId="t")
    url = f"/api/v1/runs/{run.pk}/events"
    headers = {**cast.alice.headers, **SSE}
    async with AsyncExitStack() as stack:
        for _ in range(2):
            exchange = await stack.enter_async_context(Exchange("GET", url, headers))
            await exchange.until(b"retry:")
        answer = await ask("GET", url, headers)
        assert refused(answer, 429, "limit_reached") == {"limit": "open_streams", "max": 2}
        assert answer.headers["retry-after"]
        assert await watch(f"/ws/runs/{run.pk}/", cast.alice.headers) == ([], 4429)
        runs = await db(Run.objects.count)
        for path in ("/agui", "/agui/agent/echo/connect"):
            answer = await ask("POST", path, {**cast.bob.headers, **JSON}, json={"threadId": "t"})
            assert answer.status == 429
        assert await db(Run.objects.count) == runs, "no run is started that nobody could read"
        assert (await ask("GET", url.replace("/events", ""), cast.alice.headers)).status == 200
    async with Exchange("GET", url, headers) as exchange:
        await exchange.until(b"retry:")
