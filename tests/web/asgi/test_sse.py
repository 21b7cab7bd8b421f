"""Server-sent events over raw ASGI."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_host.web import sse
from events.frames import Frames

BATCH = Frames(1, 1, [b'{"type":"CUSTOM"}'], final=False)


class Peer:
    """Takes what is sent; ``messages`` are the bodies."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.ended = False

    async def send(self, message: Any) -> None:
        self.bodies.append(message.get("body", b""))
        self.ended |= message.get("more_body") is False


async def batches(*items: Frames | None) -> AsyncIterator[Frames | None]:
    for item in items:
        yield item


async def test_opening_batches_and_heartbeats() -> None:
    peer = Peer()
    await sse.stream(peer.send, batches(BATCH, None), stall=5, opening=[b"data: 1\n\n"])
    assert peer.bodies == [sse.EVENTS.greeting + b"data: 1\n\n", BATCH.sse, sse.HEARTBEAT, b""]
    assert peer.ended


async def test_a_client_that_cannot_read_retry_gets_a_comment() -> None:
    peer = Peer()
    await sse.stream(peer.send, batches(), stall=5, wire=sse.WITHOUT_RETRY)
    await sse.refuse(peer.send, sse.WITHOUT_RETRY)
    assert b"retry" not in b"".join(peer.bodies)


async def test_a_reader_that_takes_nothing_is_cut() -> None:
    async def stalled(message: Any) -> None:
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await sse.stream(stalled, batches(BATCH), stall=0.01)
    assert await sse.refuse(stalled) is None, "nothing to wait for"


@pytest.mark.parametrize(("first", "refused"), [("sent", False), ("left", False), ("lost", True)])
async def test_the_first_of_three_ends_it(first: str, refused: bool) -> None:
    async def part(name: str) -> None:
        if name != first:
            await asyncio.Event().wait()

    assert await sse.beside(part("sent"), part("left"), part("lost")) is refused


@pytest.mark.parametrize("place", [0, 2])
async def test_an_error_of_the_sender_or_the_check_is_raised(place: int) -> None:
    async def fail() -> None:
        raise OSError("gone")

    parts: list[Any] = [asyncio.Event().wait() for _ in range(3)]
    parts[place].close()
    parts[place] = fail()
    with pytest.raises(OSError, match="gone"):
        await sse.beside(*parts)


async def test_a_cancelled_caller_stays_cancelled_although_its_reader_leaves_too() -> None:
    left = asyncio.Event()
    task = asyncio.create_task(sse.beside(asyncio.sleep(60), _wait(left), asyncio.sleep(60)))
    await asyncio.sleep(0)
    left.set()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("turns", range(4))
async def test_a_cancelled_caller_stays_cancelled_although_the_stream_ends_too(turns: int) -> None:
    stream_end = asyncio.Event()
    task = asyncio.create_task(sse.beside(_wait(stream_end), asyncio.sleep(60), asyncio.sleep(60)))
    await asyncio.sleep(0)
    stream_end.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("first", range(3))
async def test_whoever_ends_it_leaves_the_task_usable(first: int) -> None:
    events = [asyncio.Event() for _ in range(3)]
    events[first].set()
    assert await sse.beside(*map(_wait, events)) is (first == 2)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    async with asyncio.timeout(5):
        await asyncio.sleep(0)


async def test_a_reader_that_leaves_as_the_stream_ends_cancels_nothing() -> None:
    both = asyncio.Event()
    task = asyncio.create_task(sse.beside(_wait(both), _wait(both), _wait(both)))
    await asyncio.sleep(0)
    both.set()
    assert await task is False


async def _wait(event: asyncio.Event) -> None:
    await event.wait()
