"""A reader that takes nothing is cut after a while, on either transport; the others go on."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_host.web import sse, websocket
from agui_host.web.websocket import Close
from events import recheck
from events.frames import Frames
from events.hub import hub


async def frames() -> AsyncIterator[Frames]:
    for seq in range(1, 4):
        yield Frames(seq, seq, [b'{"type":"CUSTOM"}'], final=False)


class Slow:
    """A peer that takes the first ``takes`` messages and then nothing."""

    def __init__(self, takes: int) -> None:
        self.takes = takes
        self.taken: list[dict[str, Any]] = []

    async def send(self, message: dict[str, Any]) -> None:
        if len(self.taken) == self.takes:
            await asyncio.Event().wait()
        self.taken.append(message)


@pytest.mark.parametrize("takes", [0, 1, 2])
async def test_a_stalled_stream_is_cut(takes: int) -> None:
    peer = Slow(takes)
    with pytest.raises(TimeoutError):
        await sse.stream(peer.send, frames(), stall=0.01)
    assert len(peer.taken) == takes
    assert all(m["more_body"] for m in peer.taken), "a clean end would say that the run is over"


@pytest.mark.parametrize("takes", [0, 1, 2])
async def test_a_stalled_reader_that_loses_its_right_is_cut_at_once(takes: int) -> None:
    peer = Slow(takes)
    allowed = iter([True, True, False])

    async def may_read() -> bool:
        return next(allowed)

    never = asyncio.Event()
    async with asyncio.timeout(30):
        refused = await sse.beside(
            sse.stream(peer.send, frames(), stall=600),
            sse.until_disconnect(never.wait, "http.disconnect"),  # type: ignore[arg-type]  # it never returns
            recheck.until_refused(["access.nobody"], may_read, 0.01),
        )
        assert refused
        await sse.refuse(peer.send)
    assert len(peer.taken) == takes
    await hub().close()


@pytest.mark.parametrize("takes", [0, 2])
async def test_a_stalled_socket_is_closed_as_too_slow(takes: int) -> None:
    peer = Slow(takes)
    code = await websocket.stream(peer.send, frames(), stall=0.01)
    assert (code, int(code)) == (Close.TOO_SLOW, 4408)
    assert len(peer.taken) == takes


async def test_a_reader_that_takes_all_is_not() -> None:
    peer = Slow(10)
    assert await websocket.stream(peer.send, frames(), stall=5) == 1000
    assert len(peer.taken) == 3
