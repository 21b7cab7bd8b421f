"""The recheck of an open stream: soon after its start, when a topic rings, and on a beat."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from channels.layers import channel_layers

from events import recheck
from events.hub import hub

NEVER = 3600.0


@pytest.fixture(autouse=True)
async def closed_hub() -> AsyncIterator[None]:
    yield
    await hub().close()
    await channel_layers["default"].flush()


class Right:
    """A right that is asked for, and can be taken away."""

    def __init__(self) -> None:
        self.allowed, self.questions = True, 0
        self.called = asyncio.Event()

    async def __call__(self) -> bool:
        self.questions += 1
        self.called.set()
        return self.allowed

    async def next(self) -> None:
        self.called.clear()
        await asyncio.wait_for(self.called.wait(), 30)


async def test_it_asks_soon_and_again_on_each_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[tuple[float, float]] = []
    monkeypatch.setattr(recheck.random, "uniform", lambda *ends: (waits.append(ends), 0.001)[1])
    right = Right()
    watching = asyncio.create_task(recheck.until_refused(["t"], right, NEVER))
    for _ in range(3):
        await right.next()
    right.allowed = False
    await asyncio.wait_for(watching, 30)
    assert waits[0] == (0.2, recheck.SOON), "soon after the start"
    assert set(waits[1:]) == {(0.8, 1.0)}, "streams of one moment do not ask together for ever"


async def test_a_ring_is_enough_and_a_ring_elsewhere_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recheck.random, "uniform", lambda low, high: NEVER)
    right = Right()
    watching = asyncio.create_task(recheck.until_refused(["mine", "ours"], right, NEVER))
    while "ours" not in hub()._rings:
        await asyncio.sleep(0)
    for topic in ("mine", "ours"):
        hub().deliver({"topic": topic})
        await right.next()
    hub().deliver({"topic": "theirs"})
    await asyncio.sleep(0)
    assert right.questions == 2
    right.allowed = False
    hub().deliver({"topic": "mine"})
    await asyncio.wait_for(watching, 30)
    assert right.questions == 3
    assert not hub()._rings
