"""A right that is taken away ends every kind of stream by the bell: no heartbeat helps here."""

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest
from channels.testing import WebsocketCommunicator
from pytest_django import Settings

from agui_host.backends.bell import BellLayer
from agui_host.backends.postgres.bridge import db
from agui_host.teams import keys
from agui_host.teams.access import members
from agui_host.teams.models import ApiKey
from agui_host.web.asgi import application
from events import recheck
from events.writer import JournalWriter
from runs.access import sharing, threads
from runs.access.sharing import Terms, To
from tests.asgi import Exchange
from tests.cast import Cast, LiveRun, start

pytestmark = pytest.mark.django_db(transaction=True)
BELL = 30.0
"""Nothing but the bell ends a stream here; that it takes two seconds at most is measured on a whole
host, by ``tests/acceptance/rights/test_revoking.py``."""
SSE = {"accept": "text/event-stream"}


class Scene(NamedTuple):
    cast: Cast
    live: LiveRun


End = Callable[[Scene], None]


async def by_grant(scene: Scene) -> tuple[dict[str, str], End]:
    """Another team reads; the grant goes."""
    cast, run = scene.cast, scene.live.run
    to = To(team=cast.other_team.pk)
    grant, _ = await db(sharing.share, cast.alice.principal, run, to, Terms())
    return cast.charlie.headers, lambda scene: sharing.revoke(cast.alice.principal, grant.pk)


async def by_owner(scene: Scene) -> tuple[dict[str, str], End]:
    """Another team reads; the team that owns the run is shut, which only its own bell says."""
    headers, _ = await by_grant(scene)
    return headers, lambda scene: members.archive(scene.cast.alice.principal)


async def by_key(scene: Scene) -> tuple[dict[str, str], End]:
    """The own team's key reads; the key goes. ``agui`` and ``connect`` know only own threads."""
    key = await db(lambda: ApiKey.objects.get(name="bob"))
    return scene.cast.bob.headers, lambda scene: keys.revoke(key, scene.cast.alice.principal)


async def by_less(scene: Scene) -> tuple[dict[str, str], End]:
    """Another team reads the thread; then its run alone, by another grant."""
    cast, run = scene.cast, scene.live.run
    to, owner = To(team=cast.other_team.pk), cast.alice.principal
    of_thread, _ = await db(lambda: sharing.share(owner, run.thread, to, Terms()))
    await db(sharing.share, owner, run, to, Terms())
    return cast.charlie.headers, lambda scene: sharing.revoke(owner, of_thread.pk)


async def by_privacy(scene: Scene) -> tuple[dict[str, str], End]:
    """A team mate reads; then the thread is private, and a grant shows the run alone."""
    cast, run = scene.cast, scene.live.run
    to, owner = To(member="bob"), cast.alice.principal
    await db(sharing.share, owner, run, to, Terms())

    def end(scene: Scene) -> None:
        threads.change(owner, run.thread_id, {"visibility": "private"})

    return cast.bob.cookie | {"origin": "http://localhost"}, end


@asynccontextmanager
async def get(scene: Scene, headers: dict[str, str], path: str) -> Any:
    async with Exchange("GET", path, {**headers, **SSE}) as stream:
        assert stream.status == 200
        await stream.chunk()
        yield stream.until(b": revoked")


@asynccontextmanager
async def events(scene: Scene, headers: dict[str, str]) -> Any:
    async with get(scene, headers, f"{scene.live.url}?after=0") as ended:
        yield ended


@asynccontextmanager
async def alpine(scene: Scene, headers: dict[str, str]) -> Any:
    async with get(scene, headers, f"/runs/{scene.live.run.pk}/events") as ended:
        yield ended


@asynccontextmanager
async def durable(scene: Scene, headers: dict[str, str]) -> Any:
    path = f"/api/v1/runs/{scene.live.run.pk}/stream?offset=-1&live=sse"
    async with Exchange("GET", path, {**headers, **SSE}) as stream:
        assert stream.status == 200
        await stream.chunk()
        yield stream.rest()


@asynccontextmanager
async def agui(scene: Scene, headers: dict[str, str]) -> Any:
    body = {"threadId": "t", "runId": "r", "messages": []}
    async with Exchange("POST", "/agui", headers, json=body) as stream:
        assert stream.status == 200
        await stream.chunk()
        yield stream.until(b": revoked")


@asynccontextmanager
async def connect(scene: Scene, headers: dict[str, str]) -> Any:
    body = {"threadId": "t"}
    async with Exchange("POST", "/agui/agent/echo/connect", headers, json=body) as stream:
        assert stream.status == 200
        await stream.chunk()
        yield stream.until(b": revoked")


@asynccontextmanager
async def socket(scene: Scene, headers: dict[str, str]) -> Any:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    raw.append((b"host", b"localhost"))
    reader = WebsocketCommunicator(application, f"/ws/runs/{scene.live.run.pk}/", headers=raw)
    assert (await reader.connect(20))[0]
    await reader.receive_from(20)

    async def ended() -> None:
        while (message := await reader.receive_output(BELL))["type"] == "websocket.send":
            pass
        assert message["code"] == 4403

    yield ended()
    await reader.wait(20)


@asynccontextmanager
async def subscription(scene: Scene, headers: dict[str, str]) -> Any:
    """A subscription of a socket ends, the socket stays."""
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    raw.append((b"host", b"localhost"))
    reader = WebsocketCommunicator(application, "/ws/", headers=raw)
    assert (await reader.connect(20))[0]
    params = {"run": str(scene.live.run.pk), "after": 0}
    await reader.send_json_to(
        {"jsonrpc": "2.0", "id": 1, "method": "run.subscribe", "params": params}
    )
    while '"a"' not in await reader.receive_from(20):
        pass

    async def ended() -> None:
        while '"revoked"' not in await reader.receive_from(BELL):
            pass

    yield ended()
    await reader.disconnect()


async def test_a_link(scene: Scene) -> None:
    cast, run = scene.cast, scene.live.run
    grant, token = await db(sharing.share, cast.alice.principal, run, To(), Terms())
    async with get(scene, {}, f"/shared/{token}/runs/{run.pk}/events") as ended:
        await db(sharing.revoke, cast.alice.principal, grant.pk)
        async with asyncio.timeout(BELL):
            await ended


@pytest.mark.parametrize(
    ("way", "right"),
    [
        (events, by_grant),
        (alpine, by_grant),
        (socket, by_grant),
        (events, by_less),
        (alpine, by_less),
        (socket, by_less),
        (durable, by_less),
        (subscription, by_less),
        (subscription, by_privacy),
        (events, by_privacy),
        (socket, by_privacy),
        (events, by_owner),
        (alpine, by_owner),
        (socket, by_owner),
        (events, by_key),
        (alpine, by_key),
        (socket, by_key),
        (agui, by_key),
        (connect, by_key),
    ],
    ids=lambda function: function.__name__,
)
async def test_every_kind_of_stream(scene: Scene, way: Any, right: Any) -> None:
    headers, end = await right(scene)
    async with way(scene, headers) as ended:
        await db(end, scene)
        async with asyncio.timeout(BELL):
            await ended


async def test_a_ring_that_is_lost_is_repeated(scene: Scene, monkeypatch: Any) -> None:
    publish, lost = BellLayer.group_send_many, []

    async def losing_the_first(layer: BellLayer, items: Any) -> None:
        if not lost and "access." in str(items):
            lost.append(items)
            raise TimeoutError
        await publish(layer, items)

    headers, end = await by_key(scene)
    async with events(scene, headers) as ended:
        monkeypatch.setattr(BellLayer, "group_send_many", losing_the_first)
        await db(end, scene)
        assert lost, "the first ring was lost"
        async with asyncio.timeout(BELL):
            await ended


@pytest.fixture
def _no_heartbeat(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks again by himself, not even once soon after the start."""
    settings.AGUI_SSE_HEARTBEAT = 600
    monkeypatch.setattr(recheck.random, "uniform", lambda low, high: 600)


@pytest.fixture
async def scene(cast: Cast, writer: JournalWriter, _no_heartbeat: None) -> Scene:
    """A running run that has said something."""
    live = await LiveRun.begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
    await live.say("a")
    return Scene(cast, live)
