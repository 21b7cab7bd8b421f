"""The host's uses of Valkey, and whether each works with an address."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import redis
from pytest_django import Settings

from agui_host.backends import stream_limit
from agui_host.backends.bell import BellLayer
from agui_host.backends.cache import ForgivingCache
from agui_host.backends.valkey.clients import ERRORS, shared
from events.subscriptions import SECONDS

DEADLINE = 30.0


def forget() -> None:
    """The next test connects anew."""
    ForgivingCache.resting_until = 0.0
    shared.cache_clear()


async def until(done: Callable[[], bool]) -> None:
    """Poll a fact about another process until it holds."""
    async with asyncio.timeout(DEADLINE):
        while True:
            with suppress(redis.RedisError, OSError):
                if await asyncio.to_thread(done):
                    return
            await asyncio.sleep(0.05)


@asynccontextmanager
async def process() -> AsyncIterator[stream_limit.Seats]:
    """The seats of one process, which leaves no connection open."""
    seats = stream_limit.Seats()
    try:
        yield seats
    finally:
        if seats._tending:
            seats._tending.cancel()
        await seats._store.rest()
        await seats._store.renew()  # closes all that a cluster's client has


class Ears:
    """A subscriber of one process, and another process that rings."""

    def __init__(self, url: str) -> None:
        self.near, self.far = BellLayer(hosts=[url]), BellLayer(hosts=[url])
        self.group = uuid.uuid4().hex

    async def __aenter__(self) -> "Ears":
        self.channel = await self.near.new_channel()
        await self.near.group_add(self.group, self.channel)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.near.flush()
        await self.far.flush()

    async def hears(self) -> None:
        """Ring until it is heard, as each commit of a run rings."""
        message: dict[str, Any] = {"type": "ring", "id": uuid.uuid4().hex}
        async with asyncio.timeout(DEADLINE):
            hearing = asyncio.create_task(self._next(message))
            while not hearing.done():
                with suppress(*ERRORS):
                    async with asyncio.timeout(SECONDS):
                        await self.far.group_send_many([(self.group, message)])
                await self.near.hang_up_on_silence()  # as the hub's tick does
                await asyncio.wait([hearing], timeout=0.2)

    async def _next(self, message: dict[str, Any]) -> None:
        while await self.near.receive(self.channel) != message:
            pass


async def uses(url: str, settings: Settings) -> dict[str, bool]:
    """Which of the three that hold Valkey's address do their work with this one."""
    settings.REDIS_URL = url
    results = dict.fromkeys(("bell", "cache", "seats"), False)
    with suppress(TimeoutError, *ERRORS):
        async with asyncio.timeout(5), Ears(url) as ears:
            await ears.hears()
            results["bell"] = True
    cache, key = ForgivingCache(url, {}), uuid.uuid4().hex
    ForgivingCache.resting_until = 0.0
    await asyncio.to_thread(cache.set, key, "v", 60)
    stored = await asyncio.to_thread(cache.get, key) == "v"
    results["cache"] = stored and not ForgivingCache.resting_until  # else here only
    owner = uuid.uuid4()
    async with process() as here, here.taken(owner, 2):
        results["seats"] = await asyncio.to_thread(stream_limit.count, owner) == 1
    return results
