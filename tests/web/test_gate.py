"""The gate: bounded, fair between callers, quick to refuse, and it never loses a slot."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pytest_django import Settings

from agui_project.errors import Overloaded
from web.gate import Gate, Slot


@asynccontextmanager
async def entering(gate: Gate, *callers: str, kind: str = "start") -> AsyncIterator[list[Slot]]:
    """Requests that come in this order; the list has the slots of those that are in."""
    slots: list[Slot] = []

    async def come(caller: str) -> None:
        slots.append(await gate.enter(caller, kind))

    tasks = [asyncio.create_task(come(caller)) for caller in callers]
    await settle()
    yield slots
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_one_caller_holds_half_of_the_slots() -> None:
    gate = Gate(4)
    async with entering(gate, *"aaaaa") as of_a, entering(gate, "b") as of_b:
        assert (len(of_a), len(of_b)) == (2, 1)
        of_a[0].release()
        of_a[0].release()  # twice is once
        await settle()
        assert len(of_a) == 3


async def test_callers_take_turns() -> None:
    gate, turns = Gate(1), []

    async def come(caller: str) -> None:
        slot = await gate.enter(caller, "start")
        turns.append(caller)
        await asyncio.sleep(0)
        slot.release()

    await asyncio.gather(*map(come, "aaaaabbc"))
    assert "".join(turns) == "aabcabaa"


async def test_what_would_wait_too_long_is_refused_at_once(settings: Settings) -> None:
    settings.AGUI_REQUEST_WAIT = 0.1  # of 20 ms each, two at once: ten may wait
    gate = Gate(4)
    async with entering(gate, *"a" * 12) as of_a:
        assert len(of_a) == 2
        with pytest.raises(Overloaded) as refusal:
            async with entering(gate, "a"):
                await gate.enter("a", "start")
        assert refusal.value.headers == {"Retry-After": "1"}
        async with entering(gate, "b") as of_b, entering(gate, "a", kind="join"):
            assert len(of_b) == 1, "others are not refused for it"


async def test_who_leaves_while_waiting_takes_no_slot_along() -> None:
    gate = Gate(1)
    async with entering(gate, "a") as first:
        async with entering(gate, "b", "c"):
            pass
        waiting = asyncio.create_task(gate.enter("b", "start"))
        await settle()
        first[0].release()  # gives the slot to the one that leaves in the same moment
        waiting.cancel()
        await settle()
        (await gate.enter("d", "start")).release()
    assert (gate._busy, gate._waiting, gate._busy_of, gate._lanes) == (0, 0, {}, {})
