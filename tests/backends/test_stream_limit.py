"""Seats are counted over all processes, free themselves, and fail open."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import Any

import pytest
from pytest_django import Settings

from agui_host.backends import stream_limit
from agui_host.backends.stream_limit import Seats

NOWHERE = "unix:///nowhere/valkey.sock"


class Process(Seats):
    """One web process: counts its calls, and can hold back Valkey's answers."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.answers = asyncio.Event()
        self.answers.set()

    async def _do(self, command: Callable[[], Awaitable[Any]]) -> Any:
        self.calls += 1
        answer = await super()._do(command)
        await self.answers.wait()
        return answer

    async def look(self, owner: uuid.UUID, most: int) -> None:
        """Learn the owner's total."""
        state = self._owner(owner)
        state.most = most
        await self._exchange(state)


async def counted(owner: uuid.UUID) -> int | None:
    return await asyncio.to_thread(stream_limit.count, owner)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0)


async def cancel(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@pytest.fixture(autouse=True)
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is: a total stays fresh, and reports come when a test makes them."""
    monkeypatch.setattr(stream_limit, "FRESH", 3600.0)
    monkeypatch.setattr(stream_limit, "TELL", 3600.0)


async def test_links_and_end_users_hide_no_team_from_the_metrics() -> None:
    seats, team = Seats(), uuid.uuid4()
    async with seats.taken("link:full", 1), seats.taken("end:full", 1), seats.taken(team, 100):
        assert seats.fullest(1) == [(team, 1, 100)]


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
    owner, here = uuid.uuid4(), Process()
    async with AsyncExitStack() as stack:
        for _ in range(20):
            assert await stack.enter_async_context(here.taken(owner, 0))
        assert here.calls == 0
        await here.tell()
        assert await counted(owner) == 20
    assert here.calls == 1
    await here.tell()
    assert (await counted(owner), here.calls) == (0, 2)


async def test_far_below_the_limit_only_the_first_stream_calls() -> None:
    owner, here = uuid.uuid4(), Process()
    async with here.taken(owner, 160):
        async with AsyncExitStack() as stack:
            for _ in range(10):
                assert await stack.enter_async_context(here.taken(owner, 160))
        await here.tell()  # They came and went: nothing to tell.
        assert (await counted(owner), here.calls) == (1, 1)


async def test_without_a_fresh_total_each_stream_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_limit, "FRESH", -1.0)
    owner, here = uuid.uuid4(), Process()
    async with here.taken(owner, 160), here.taken(owner, 160):
        assert (await counted(owner), here.calls) == (2, 2)
    assert (await counted(owner), here.calls) == (0, 4)


async def test_a_process_takes_a_sixteenth_of_the_limit_then_calls() -> None:
    owner, here = uuid.uuid4(), Process()
    async with AsyncExitStack() as stack:
        for expected in (1, 1, 1, 2, 2, 2, 3):
            assert await stack.enter_async_context(here.taken(owner, 32))
            assert here.calls == expected
        assert await counted(owner) == 7


async def test_what_eight_processes_take_alone_stays_below_the_limit() -> None:
    owner, full, processes = uuid.uuid4(), Process(), [Process() for _ in range(8)]
    async with AsyncExitStack() as stack:
        for _ in range(16):
            assert await stack.enter_async_context(full.taken(owner, 32))
        for each in processes:
            await each.look(owner, 32)
            assert await stack.enter_async_context(each.taken(owner, 32))
            assert await stack.enter_async_context(each.taken(owner, 32))
        assert {each.calls for each in processes} == {1}
        for each in processes:
            await each.tell()
        assert await counted(owner) == 32
        async with processes[0].taken(owner, 32) as one_more:
            assert one_more is False


async def test_near_the_limit_two_processes_are_exact() -> None:
    owner, one, other = uuid.uuid4(), Process(), Process()
    async with AsyncExitStack() as stack:
        for number in range(32):
            seat = (one, other)[number % 2].taken(owner, 32)
            assert await stack.enter_async_context(seat), number
        assert await counted(owner) == 32
        async with one.taken(owner, 32) as first, other.taken(owner, 32) as second:
            assert (first, second) == (False, False)
    await one.tell()
    await other.tell()
    assert await counted(owner) == 0


async def test_near_the_limit_a_seat_is_free_at_once() -> None:
    owner, one, other = uuid.uuid4(), Process(), Process()
    async with AsyncExitStack() as stack:
        for _ in range(15):
            assert await stack.enter_async_context(one.taken(owner, 16))
        async with one.taken(owner, 16) as last, other.taken(owner, 16) as free:
            assert (last, free) == (True, False)
        async with other.taken(owner, 16) as free:
            assert free is True


async def test_starts_at_the_same_moment_share_a_call() -> None:
    owner, here = uuid.uuid4(), Process()
    seats = [here.taken(owner, 3) for _ in range(5)]
    free = await asyncio.gather(*(seat.__aenter__() for seat in seats))
    assert free == [True, True, True, False, False]
    assert (here.calls, await counted(owner)) == (1, 3)
    for seat in seats:
        await seat.__aexit__()
    assert await counted(owner) == 0


async def test_far_below_the_limit_a_departure_is_told_later() -> None:
    owner, here = uuid.uuid4(), Process()
    async with here.taken(owner, 160):
        pass
    assert (await counted(owner), here.calls) == (1, 1)
    await here.tell()
    assert (await counted(owner), here.calls) == (0, 2)
    await here.tell()
    assert here.calls == 2


async def test_a_seat_that_leaves_while_valkey_stores_it_is_removed() -> None:
    owner, here = uuid.uuid4(), Process()
    async with here.taken(owner, 160):
        async with here.taken(owner, 160):
            here.answers.clear()
            telling = asyncio.create_task(here.tell())
            await until(lambda: here.calls == 2)
        here.answers.set()
        await telling
        await here.tell()
        assert await counted(owner) == 1
        await here.renew()
        assert await counted(owner) == 1


async def test_a_task_reports_what_was_taken_and_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_limit, "TELL", 0.0)
    owner, here = uuid.uuid4(), Process()
    async with here.taken(owner, 0):
        await until(lambda: not here._changes)
        assert await counted(owner) == 1
    await until(lambda: not here._changes)
    assert (await counted(owner), here.calls) == (0, 2)


async def test_the_task_renews_and_ends_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_limit, "TELL", 0.0)
    monkeypatch.setattr(stream_limit, "RENEW", 0.0)
    owner, here = uuid.uuid4(), Process()
    async with here.taken(owner, 160):
        await until(lambda: here.calls == 4)
        tending = here._tending
    assert tending is not None
    await tending
    assert here._tending is None
    assert (await counted(owner), here._owners) == (0, {})


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
        await here._store.client.delete(stream_limit._key(owner))
        assert await counted(owner) == 0
        await here.renew()
        assert await counted(owner) == 1
        async with here.taken(owner, 1) as second:
            assert second is False


async def test_a_total_that_is_too_low_shows_that_valkey_forgot() -> None:
    owner, here = uuid.uuid4(), Seats()
    async with here.taken(owner, 10), here.taken(owner, 10), here.taken(owner, 10):
        await here._store.client.delete(stream_limit._key(owner))
        async with here.taken(owner, 10):
            await here.tell()
            assert await counted(owner) == 4
        assert await counted(owner) == 3


async def test_without_redis_nobody_is_refused(settings: Settings) -> None:
    settings.REDIS_URL = NOWHERE
    owner, here = uuid.uuid4(), Seats()
    async with here.taken(owner, 1) as first, here.taken(owner, 1) as second:
        assert (first, second) == (True, True)
    assert await counted(owner) is None


async def test_a_valkey_that_comes_back_is_told(settings: Settings) -> None:
    here = Process()
    valkey, settings.REDIS_URL = here._store, NOWHERE
    owner, here._store = uuid.uuid4(), Seats()._store
    async with here.taken(owner, 5), here.taken(owner, 5):
        async with here.taken(owner, 5):
            assert here.calls == 1
        await here.tell()
        assert here.calls == 1  # It is not asked again for a while.
        here._store, here._down_until = valkey, 0.0
        await here.tell()
        assert await valkey.client.zcard(stream_limit._key(owner)) == 2


async def test_seats_that_leave_without_valkey_are_not_remembered(settings: Settings) -> None:
    owner, here = uuid.uuid4(), Process()
    async with here.taken(owner, 160):
        await here._store.client.aclose()
        settings.REDIS_URL = NOWHERE
        here._store = Seats()._store
    assert here._owners[owner].departures
    await here.tell()
    await here.renew()
    assert here._owners == {}


class TestCancellation:
    async def test_while_valkey_decides(self) -> None:
        owner, here = uuid.uuid4(), Process()
        here.answers.clear()
        first, second = here.taken(owner, 5), here.taken(owner, 5)
        starts = [asyncio.create_task(seat.__aenter__()) for seat in (first, second)]
        await until(lambda: here.calls == 1)
        await cancel(starts[0])
        here.answers.set()
        assert await starts[1] is True
        await here.tell()
        await here.renew()
        assert (await counted(owner), here._users) == (1, 1)
        await second.__aexit__()

    async def test_before_valkey_is_asked(self) -> None:
        owner, here = uuid.uuid4(), Process()
        here.answers.clear()
        first, second = here.taken(owner, 5), here.taken(owner, 5)
        starting = asyncio.create_task(first.__aenter__())
        await until(lambda: here.calls == 1)
        waiting = asyncio.create_task(second.__aenter__())
        await until(lambda: here._owners[owner].next_call is not None)
        await cancel(waiting)
        here.answers.set()
        assert await starting is True
        await until(lambda: here.calls == 2)
        await here.look(owner, 5)
        assert (await counted(owner), here._users) == (1, 1)
        await first.__aexit__()

    async def test_while_leaving(self) -> None:
        owner, here = uuid.uuid4(), Process()
        seat = here.taken(owner, 1)
        assert await seat.__aenter__()
        here.answers.clear()
        leaving = asyncio.create_task(seat.__aexit__())
        await until(lambda: here.calls == 2)
        await cancel(leaving)
        here.answers.set()
        async with here.taken(owner, 1) as free:
            assert free is True
        assert (await counted(owner), here._users) == (0, 0)
