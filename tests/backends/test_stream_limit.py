"""Seats are counted over all processes, free themselves, and fail open."""

import asyncio
import uuid
from contextlib import AsyncExitStack

import pytest
from pytest_django import Settings

from backends import stream_limit
from backends.stream_limit import Seats


async def counted(owner: uuid.UUID) -> int | None:
    return await asyncio.to_thread(stream_limit.count, owner)


async def test_two_processes_share_an_owners_seats() -> None:
    owner, one, other = uuid.uuid4(), Seats(), Seats()
    async with one.taken(owner, 2) as first, other.taken(owner, 2) as second:
        assert (first, second) == (True, True)
        async with other.taken(owner, 2) as third:
            assert third is False
        async with one.taken(uuid.uuid4(), 2) as others:
            assert others is True
        assert await counted(owner) == 2
    assert await counted(owner) == 0
    async with one.taken(owner, 1) as again:
        assert again is True


async def test_without_a_limit_they_are_counted_all_the_same() -> None:
    owner, here = uuid.uuid4(), Seats()
    async with AsyncExitStack() as stack:
        for _ in range(20):
            assert await stack.enter_async_context(here.taken(owner, 0))
        assert await counted(owner) == 20


async def test_a_crashed_process_keeps_its_seats_only_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owner, crashed, alive = uuid.uuid4(), Seats(), Seats()
    monkeypatch.setattr(stream_limit, "LEASE", -1)  # whatever it took has expired by now
    async with crashed.taken(owner, 1):
        monkeypatch.setattr(stream_limit, "LEASE", 45)
        async with alive.taken(owner, 1) as free:
            assert free is True


async def test_a_redis_that_forgot_is_told_again() -> None:
    owner, here = uuid.uuid4(), Seats()
    async with here.taken(owner, 1):
        await here._redis.delete(stream_limit._key(owner))
        assert await counted(owner) == 0
        await here.renew()
        assert await counted(owner) == 1
        async with here.taken(owner, 1) as second:
            assert second is False


async def test_without_redis_nobody_is_refused(settings: Settings) -> None:
    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    owner, here = uuid.uuid4(), Seats()
    async with here.taken(owner, 1) as first, here.taken(owner, 1) as second:
        assert (first, second) == (True, True)
    assert await counted(owner) is None
