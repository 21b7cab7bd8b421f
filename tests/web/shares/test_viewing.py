"""Views of streams: large batches off the loop, charged to the reader's payer."""

import asyncio
import threading
from uuid import uuid4

import pytest

from agui_host.backends import work
from agui_host.web.shares.viewing import Viewing
from events.frames import Frames

LARGE = Frames(1, 2, [b"1" * 9_000] * 2, final=False)
LIVE = Frames(1, 1, [b"1"], final=False)


async def test_a_large_batch_is_shown_in_a_thread_and_a_live_one_here() -> None:
    threads: list[int] = []

    def view(batch: Frames) -> bytes:
        threads.append(threading.get_ident())
        return batch.sse

    viewing = Viewing(uuid4(), asyncio.Lock())
    for batch in (LIVE, LARGE):
        assert await viewing.show(view, batch) == batch.sse
    assert threads[0] == threading.get_ident() != threads[1]


async def test_reading_again_and_again_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_buckets", work.Buckets(clock=lambda: 0.0))
    address = f"link:{uuid4()}"
    viewing, log = Viewing(address), Frames(1, 1, [b"1" * 1_000_000], final=False)
    views = 0

    def view(batch: Frames) -> bytes:
        nonlocal views
        views += 1
        return b""

    while not work.debt(address):
        await viewing.show(view, log)
    assert views == work.SHARE * work.BURST // (1_000_000 // work.BYTES) + 1
    waiting = asyncio.create_task(viewing.show(view, log))
    await asyncio.sleep(0)
    assert not waiting.done(), "above its share it waits"
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
