"""Seats: counts an owner's open streams over all web processes, in Valkey.

Each stream has a member of the owner's sorted set whose score is its expiry; the process renews its
own while they are open. So a crashed process's seats free themselves within ``LEASE`` seconds, and
a Valkey that lost everything learns of them again. Without Valkey nobody is counted and nobody
refused: a limit is not worth an outage.
"""

import asyncio
import functools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import UUID, uuid4

import redis
import redis.asyncio
import structlog
from django.conf import settings

log = structlog.get_logger(__name__)

LEASE = 45
RENEW = 15.0
TIMEOUT = 0.25
TIMEOUTS: Any = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}
PAUSE = 5.0
"""Seconds in which Valkey is not asked again after it failed: each stream would wait for it."""

# Valkey's own clock, so that the clocks of the web processes need not agree.
TAKE = """
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
"""
RENEW_ALL = """
local till = tonumber(redis.call('TIME')[1]) + ARGV[1]
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], till, ARGV[i]) end
redis.call('EXPIRE', KEYS[1], ARGV[1])
"""
COUNT = "return redis.call('ZCOUNT', KEYS[1], '(' .. redis.call('TIME')[1], '+inf')"


def _key(owner: UUID | str) -> str:
    return f"agui:seats:{owner}"


class Seats:
    """The seats that this process has taken, in one event loop."""

    def __init__(self) -> None:
        self._held: dict[UUID | str, set[str]] = {}
        self._users = 0
        self._redis = redis.asyncio.Redis.from_url(settings.REDIS_URL, **TIMEOUTS)
        self._tending: asyncio.Task[None] | None = None
        self._down_until = 0.0

    @asynccontextmanager
    async def taken(self, owner: UUID | str, most: int) -> AsyncIterator[bool]:
        """Take one of the owner's ``most`` seats (0: no limit); False if none is free."""
        seat = str(uuid4())
        self._users += 1
        try:
            if self._tending is None:
                self._tending = asyncio.create_task(self._tend(), name="seats")
            free = await self._run(TAKE, owner, seat, most or 2**53, LEASE) != 0
            if free:
                self._held.setdefault(owner, set()).add(seat)
            try:
                yield free
            finally:
                if free:
                    await self._leave(owner, seat)
        finally:
            self._users -= 1

    async def _leave(self, owner: UUID | str, seat: str) -> None:
        self._held[owner].discard(seat)
        if not self._held[owner]:
            del self._held[owner]
        await self._do(lambda: self._redis.zrem(_key(owner), seat))

    async def renew(self) -> None:
        """Tell Valkey that these streams are still open."""
        for owner, seats in list(self._held.items()):
            await self._run(RENEW_ALL, owner, LEASE, *seats)

    async def _tend(self) -> None:
        """Renew until no stream has been open for a while, then end the task and its connection."""
        try:
            while True:
                await asyncio.sleep(RENEW)
                if not self._users:
                    return
                await self.renew()
        finally:
            self._tending = None
            if not self._users:
                with suppress(redis.RedisError, OSError):
                    await self._redis.connection_pool.disconnect(inuse_connections=False)

    async def _run(self, script: str, owner: UUID | str, *args: Any) -> Any:
        return await self._do(lambda: self._redis.eval(script, 1, _key(owner), *args))

    async def _do(self, command: Any) -> Any:
        """The answer; None without Valkey."""
        if time.monotonic() < self._down_until:
            return None
        try:
            async with asyncio.timeout(2 * TIMEOUT):
                return await command()
        except (redis.RedisError, OSError) as error:  # TimeoutError is an OSError
            self._down_until = time.monotonic() + PAUSE
            log.warning("seats.not_counted", error=repr(error))
            return None


@functools.cache
def _seats_of(loop: asyncio.AbstractEventLoop) -> Seats:
    return Seats()


def seats() -> Seats:
    """The seats of this process (one per event loop, since tests have many)."""
    return _seats_of(asyncio.get_running_loop())


def count(owner: UUID | str) -> int | None:
    """How many seats the owner's streams have taken (synchronous); None without Valkey."""
    client = redis.Redis.from_url(settings.REDIS_URL, **TIMEOUTS)
    try:
        return int(client.eval(COUNT, 1, _key(owner)))
    except (redis.RedisError, OSError):
        return None
    finally:
        client.close()
