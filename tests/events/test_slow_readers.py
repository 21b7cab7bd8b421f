"""A reader that takes nothing is cut after a while, on either transport; the others go on."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from events import socket, sse
from events.frames import Frames
from events.socket import Close


async def frames() -> AsyncIterator[Frames]:
    for seq in range(1, 4):
        yield Frames(seq, seq, [b'{"type":"CUSTOM"}'], final=False)


async def yes() -> bool:
    return True


class Slow:
    """A peer that takes the first ``takes`` messages and then nothing."""

    def __init__(self, takes: int) -> None:
        self.takes = takes
        self.taken: list[dict[str, Any]] = []

    async def send(self, message: dict[str, Any]) -> None:
        if len(self.taken) == self.takes:
            await asyncio.Event().wait()
        self.taken.append(message)


@pytest.mark.parametrize("takes", [1, 2, 3])
async def test_a_stalled_stream_is_cut(takes: int) -> None:
    peer = Slow(takes)
    with pytest.raises(TimeoutError):
        await sse.stream(peer.send, frames(), headers=[], recheck=yes, every=60, stall=0.01)
    assert len(peer.taken) == takes
    assert peer.taken[-1].get("more_body", True), "a clean end would say that the run is over"


@pytest.mark.parametrize("takes", [0, 2])
async def test_a_stalled_socket_is_closed_as_too_slow(takes: int) -> None:
    peer = Slow(takes)
    code = await socket.stream(peer.send, frames(), recheck=yes, every=60, stall=0.01)
    assert (code, int(code)) == (Close.TOO_SLOW, 4408)
    assert len(peer.taken) == takes


async def test_a_reader_that_takes_all_is_not() -> None:
    peer = Slow(10)
    assert await socket.stream(peer.send, frames(), recheck=yes, every=60, stall=5) == 1000
    assert len(peer.taken) == 3
