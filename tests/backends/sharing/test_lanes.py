"""Teams take turns for the threads of the database: stuck calls of one leave room for others."""

import asyncio
import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from uuid import UUID, uuid4

import pytest

from agui_host.backends.postgres import bridge, reserved, scope
from agui_host.backends.postgres.bridge import db
from agui_host.backends.postgres.lanes import HOST, Lanes
from events.outlines import Building

SIZE = 8
SOON = 30.0


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    pool = Lanes(SIZE, "test")
    yield pool
    pool.shutdown()


@pytest.fixture
def own_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A pool that no other test's team has called in the last second."""
    pool = Lanes(SIZE, "own", functools.partial(reserved.connect, SIZE))
    monkeypatch.setattr(bridge, "_pool", lambda: pool)
    yield
    pool.shutdown()


@pytest.fixture
def never() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


class Stuck:
    """Calls that begin and then wait for an event."""

    def __init__(self, event: threading.Event) -> None:
        self.event, self.begun = event, threading.Semaphore(0)

    def __call__(self) -> None:
        self.begun.release()
        self.event.wait(SOON)

    def wait_for(self, number: int) -> None:
        for _ in range(number):
            assert self.begun.acquire(timeout=SOON)


def test_stuck_teams_leave_room_for_a_quiet_one(lanes: Lanes, never: threading.Event) -> None:
    for share, team in zip((4, 2, 1), "abc", strict=True):
        stuck = Stuck(never)
        for _ in range(20):
            lanes.submit(team, stuck)
        stuck.wait_for(share)
        assert not stuck.begun.acquire(blocking=False)
        assert lanes.submit("quiet", lambda: 7).result(SOON) == 7


def test_beside_others_a_team_holds_a_quarter(lanes: Lanes, never: threading.Event) -> None:
    lanes.submit("quiet", int).result(SOON)
    stuck = Stuck(never)
    for _ in range(20):
        lanes.submit("loud", stuck)
    stuck.wait_for(SIZE // 4)
    assert not stuck.begun.acquire(blocking=False)


def test_the_host_uses_all_threads(lanes: Lanes, never: threading.Event) -> None:
    stuck = Stuck(never)
    for _ in range(SIZE):
        lanes.submit(HOST, stuck)
    stuck.wait_for(SIZE)


def test_teams_take_turns() -> None:
    lanes, gate, order = Lanes(1, "test"), threading.Event(), list[str]()
    lanes.submit("first", lambda: gate.wait(SOON))
    calls: list[Future[None]] = [
        lanes.submit(team, functools.partial(order.append, f"{team}{number}"))
        for team in ("loud", "quiet", "third")
        for number in range(3 if team == "loud" else 1)
    ]
    gate.set()
    for call in calls:
        call.result(SOON)
    lanes.shutdown()
    assert order == ["loud0", "quiet0", "third0", "loud1", "loud2"]


def test_all_calls_end_whatever_comes_of_them(lanes: Lanes) -> None:
    """Failures and cancelled calls give their threads back; none is forgotten."""
    gate = threading.Event()

    def fail() -> None:
        gate.wait(SOON)
        raise LookupError

    calls = [lanes.submit(f"{number % 5}", fail) for number in range(200)]
    cancellations = [call.cancel() for call in calls]
    gate.set()
    for call, gone in zip(calls, cancellations, strict=True):
        if not gone:
            with pytest.raises(LookupError):
                call.result(SOON)
    assert sum(cancellations) >= 200 - SIZE
    assert [lanes.submit(f"{number}", int).result(SOON) for number in range(20)] == [0] * 20
    lanes.submit("last", int).result(SOON)


async def test_who_a_call_counts_for() -> None:
    """A request's address, then its credential's team; a run's team; what a task declares."""
    team, other = uuid4(), uuid4()
    assert scope.lane() == HOST
    with scope.limited():
        scope.count_for("address:192.0.2.1")
        scope.reach(team)
        assert scope.lane() == "address:192.0.2.1"
        await asyncio.to_thread(scope.count_for, f"team:{team}")
        assert scope.lane() == f"team:{team}"
    with scope.limited(other, team):
        assert scope.lane() == f"team:{other}"

    async def task() -> str:
        scope.take_turns_as("team:x")
        return scope.lane()

    assert await asyncio.create_task(task()) == "team:x"
    assert scope.lane() == HOST


def test_a_team_folds_one_long_log_at_a_time() -> None:
    building, team = Building(2), uuid4()
    with scope.limited(team):
        first = building.begin()
        assert first is not None
        assert building.begin() is None
    with scope.limited(uuid4()):
        second = building.begin()
        assert second is not None
    with scope.limited(uuid4()):
        assert building.begin() is None
    building.end(first)
    building.end(second)
    with scope.limited(team):
        assert building.begin() is not None


@pytest.mark.django_db(transaction=True)
async def test_stuck_database_calls_of_a_team_leave_threads_to_others(
    own_pool: None, never: threading.Event
) -> None:
    loud, stuck = uuid4(), Stuck(never)

    async def call(team: UUID, fn: Callable[[], object]) -> object:
        with scope.limited(team):
            return await db(fn)

    tasks = [asyncio.create_task(call(loud, stuck)) for _ in range(20)]
    try:
        await asyncio.to_thread(stuck.wait_for, 4)
        assert await asyncio.wait_for(call(uuid4(), lambda: 7), SOON) == 7
    finally:
        never.set()
        await asyncio.gather(*tasks)
