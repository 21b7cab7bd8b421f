"""The one sender of a socket: answers first, subscriptions in turn, nobody waits for ever."""

import asyncio
from collections.abc import AsyncIterator, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from agui_host.web.host_socket import outgoing
from agui_host.web.host_socket.outgoing import Outgoing


class Wire:
    """What was sent; ``open`` is cleared for a reader that accepts nothing."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.open = asyncio.Event()
        self.open.set()

    async def send(self, message: MutableMapping[str, Any]) -> None:
        await self.open.wait()
        self.texts.append(message["text"])

    async def until(self, done: Callable[[list[str]], bool]) -> None:
        async with asyncio.timeout(10):
            while not done(self.texts):
                await asyncio.sleep(0)


@pytest.fixture
def wire() -> Wire:
    return Wire()


def sender(wire: Wire, *, stall: float = 10, heartbeat: float = 10) -> Outgoing:
    return Outgoing(wire.send, stall=stall, heartbeat=heartbeat, ping="ping")


@asynccontextmanager
async def running(out: Outgoing) -> AsyncIterator[None]:
    task = asyncio.create_task(out.run())
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_answers_come_before_events_that_wait(wire: Wire) -> None:
    out = sender(wire)
    waiting = asyncio.create_task(out.frames(["event 1", "event 2"]))
    await asyncio.sleep(0)
    await out.answer("answer")
    async with running(out):
        await waiting
    assert wire.texts == ["answer", "event 1", "event 2"]


async def test_subscriptions_take_turns(wire: Wire) -> None:
    out = sender(wire)

    async def subscription(name: str) -> None:
        for number in range(3):
            await out.frames([f"{name}{number}"])

    async with running(out), asyncio.TaskGroup() as group:
        for name in "ab":
            group.create_task(subscription(name))
    assert wire.texts == ["a0", "b0", "a1", "b1", "a2", "b2"]


async def test_what_an_ended_subscription_handed_in_is_not_sent(wire: Wire) -> None:
    out = sender(wire)
    ended = asyncio.create_task(out.frames(["late"]))
    await asyncio.sleep(0)
    ended.cancel()
    async with running(out):
        await out.frames(["next"])
    assert wire.texts == ["next"]


async def test_a_silent_socket_gets_pings(wire: Wire) -> None:
    async with running(sender(wire, heartbeat=0.001)):
        await wire.until(lambda texts: texts == ["ping"] * len(texts) and len(texts) > 1)


async def test_a_reader_that_accepts_nothing_is_given_up(wire: Wire) -> None:
    wire.open.clear()
    out = sender(wire, stall=0.001)
    await out.answer("answer")
    with pytest.raises(TimeoutError):
        await out.run()


async def test_too_many_answers_wait_for_room(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing, "MOST_ANSWERS", 2)
    out = sender(wire)
    await out.answer("1")
    await out.answer("2")
    third = asyncio.create_task(out.answer("3"))
    await asyncio.sleep(0)
    assert not third.done()
    await out.flush()
    await third
    await out.flush()
    assert wire.texts == ["1", "2", "3"]


async def test_nothing_waits_for_a_closed_socket(wire: Wire) -> None:
    out = sender(wire)
    out.close()
    await out.answer("late")
    await out.flush()
    assert wire.texts == []
