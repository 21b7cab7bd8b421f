"""What clients see of limits: their values, their use, and refusals that say when to come back."""

from contextlib import AsyncExitStack

import pytest
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.teams.models import TeamLimits
from runs.access import sharing
from runs.access.sharing import Terms, To
from runs.models import Run
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
    limits = {use["name"]: (use["max"], use["used"]) for use in answer.json["limits"]}
    assert limits["concurrent_runs"] == (1, 1)
    assert limits["queued_runs"][1] == 1
    assert limits["runs_per_minute"][1] == 2
    assert limits["stored_bytes"] == (None, 0)
    assert limits["open_streams"][1] == 0
    assert limits["run_seconds"][1] is None
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


async def test_readers_of_a_link_take_no_place_of_the_team(
    cast: Cast, bell: None, writer: object, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AGUI_LINK_STREAMS, settings.AGUI_LINK_STREAMS_PER_ADDRESS = 2, 1
    settings.AGUI_TRUSTED_PROXIES = 1
    await db(TeamLimits.objects.create, team=cast.team, open_streams=1)
    run = await db(start, cast.alice, threadId="t")
    own = f"/api/v1/runs/{run.pk}/events"

    async def link() -> str:
        _, token = await db(sharing.share, cast.alice.principal, run, To(), Terms())
        return f"/shared/{token}/runs/{run.pk}/events"

    def come(url: str, address: str) -> Exchange:
        return Exchange("GET", url, {**cast.bob.headers, **SSE, "x-forwarded-for": address})

    public = await link()
    async with AsyncExitStack() as stack:
        for address in ("10.0.0.1", "2001:db8:1::1"):
            stream = await stack.enter_async_context(come(public, address))
            await stream.until(b"retry:")
        for address in ("10.0.0.1", "2001:db8:1::2"):  # the same house, by its /64
            limit = {"limit": "link_streams_per_address", "max": 1}
            answer = await ask("GET", public, {**SSE, "x-forwarded-for": address})
            assert refused(answer, 429, "limit_reached") == limit
        answer = await ask("GET", public, {**SSE, "x-forwarded-for": "10.0.0.2"})
        assert refused(answer, 429, "limit_reached") == {"limit": "link_streams", "max": 2}
        with monkeypatch.context() as patch:  # again at once: refused before anything is looked up
            patch.setattr(sharing, "open_link", None)
            answer = await ask("GET", public, {**SSE, "x-forwarded-for": "10.0.0.2"})
            assert refused(answer, 429, "limit_reached") == {"limit": "link_streams", "max": 2}
            assert int(answer.headers["retry-after"]) > 0
        other = await stack.enter_async_context(come(await link(), "10.0.0.1"))
        await other.until(b"retry:")
        mine = await stack.enter_async_context(come(own, "10.0.0.1"))
        await mine.until(b"retry:")


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
