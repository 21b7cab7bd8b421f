"""Whoever loses the right to read loses open streams and sockets soon, and opens none again.

Each scenario on a host whose heartbeat is too slow to help (so the bell does it), and on one
without Valkey (so the heartbeat does it).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import websockets

from tests.acceptance.host import Host
from tests.acceptance.revoking import SCENARIOS, House, Opening, Scenario, house_of, seed
from tests.acceptance.work_clock import WorkClock
from tests.conftest import own_data_dir

pytestmark = pytest.mark.slow
DEADLINE = 60.0
BELL = 2.0
"""Seconds of a ``WorkClock`` that the bell may take; the heartbeat has until the deadline."""
ONE_OF = {401, 403, 404}


@dataclass(frozen=True)
class Mode:
    """A host, the teams on it, and whether the bell has to end a stream there."""

    host: Host
    seeded: dict[str, Any]
    bell: bool


@pytest.fixture(scope="module", params=["bell", "no-valkey"])
def mode(request: pytest.FixtureRequest) -> Iterator[Mode]:
    bell = request.param == "bell"
    with own_data_dir() as data:
        host = Host(data, AGUI_SSE_HEARTBEAT="600" if bell else "0.5")
        try:
            host.start()
            seeded = seed(host, [scenario.name for scenario in SCENARIOS])
            if not bell:
                assert host.engines
                host.engines.stop_valkey()
            yield Mode(host, seeded, bell)
        finally:
            host.stop()


@dataclass
class Watcher:
    """An open stream: what it got, and how it ended."""

    began: asyncio.Event = field(default_factory=asyncio.Event)
    received: bytes = b""
    code: int | None = None
    ended: bool = False
    task: asyncio.Task[None] | None = None


@asynccontextmanager
async def watching(house: House, opening: Opening, way: str) -> AsyncIterator[Watcher]:
    """A watcher that has got the run's first events."""
    watcher = Watcher()
    read = _sse if way == "sse" else _socket
    watcher.task = asyncio.create_task(read(house, opening, watcher))
    try:
        async with asyncio.timeout(DEADLINE):
            waiting = asyncio.ensure_future(watcher.began.wait())
            await asyncio.wait({waiting, watcher.task}, return_when=asyncio.FIRST_COMPLETED)
            if not watcher.began.is_set():
                await watcher.task
                raise AssertionError(f"{way} ended before it began: {watcher}")
        yield watcher
    finally:
        watcher.task.cancel()
        await asyncio.gather(watcher.task, return_exceptions=True)


async def _sse(house: House, opening: Opening, watcher: Watcher) -> None:
    query, headers = opening
    url = f"{house.host.url}/api/v1/runs/{house.run}/events?after=0&{query}"
    accept = {"Accept": "text/event-stream"}
    async with (
        httpx.AsyncClient(timeout=600) as client,
        client.stream("GET", url, headers={**headers, **accept}) as answer,
    ):
        assert answer.status_code == 200, await answer.aread()
        async for chunk in answer.aiter_raw():
            watcher.received += chunk
            if b"hello" in watcher.received:
                watcher.began.set()
    watcher.ended = True


async def _socket(house: House, opening: Opening, watcher: Watcher) -> None:
    query, headers = opening
    address = house.host.url.replace("http", "ws", 1)
    url = f"{address}/ws/runs/{house.run}/?after=0&{query}"
    async with websockets.connect(url, additional_headers=headers, open_timeout=60) as socket:
        try:
            async for text in socket:
                if "hello" in text:
                    watcher.began.set()
        except websockets.ConnectionClosedError:
            pass
        watcher.code = socket.close_code
    watcher.ended = True


async def reopen(house: House, opening: Opening) -> tuple[int, int | None]:
    """What a stream and a socket answer now, to one who comes back with a cursor."""
    query, headers = opening
    address = f"/api/v1/runs/{house.run}/events?{query}"
    back = {**headers, "Accept": "text/event-stream", "Last-Event-ID": "1"}
    async with (
        httpx.AsyncClient(base_url=house.host.url, timeout=60) as client,
        client.stream("GET", address, headers=back) as answer,
    ):
        status = answer.status_code
    url = f"{house.host.url.replace('http', 'ws', 1)}/ws/runs/{house.run}/?after=1&{query}"
    async with websockets.connect(url, additional_headers=headers, open_timeout=60) as socket:
        async with asyncio.timeout(DEADLINE):
            await socket.wait_closed()
        return status, socket.close_code


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_a_lost_right_ends_what_is_open(mode: Mode, scenario: Scenario) -> None:
    house = house_of(mode.host, mode.seeded, scenario.name)
    await asyncio.to_thread(house.start)
    openings = {way: await asyncio.to_thread(scenario.reader, house) for way in ("sse", "socket")}
    mate = "", house.by_key("owner")
    async with (
        watching(house, openings["sse"], "sse") as stream,
        watching(house, openings["socket"], "socket") as socket,
        watching(house, mate, "sse") as mate_stream,
        watching(house, mate, "socket") as mate_socket,
    ):
        await asyncio.to_thread(scenario.act, house)
        lost = [stream, socket, *([mate_stream, mate_socket] if scenario.for_all else [])]
        with WorkClock() if mode.bell else nullcontext() as clock:
            async with asyncio.timeout(DEADLINE):
                await asyncio.gather(*(watcher.task for watcher in lost if watcher.task))
            assert clock is None or clock.seconds() <= BELL
        assert all(watcher.ended for watcher in lost)
        assert b": revoked" in stream.received
        assert socket.code == 4403
        if not scenario.for_all:
            assert not mate_stream.ended
            assert not mate_socket.ended
    for way in openings.values():
        status, code = await reopen(house, way)
        assert status in ONE_OF
        assert code == 4000 + status
