"""Work off the loop: turns of payers, reference until the thread has ended."""

import asyncio
import gc
import threading
import weakref
from contextlib import suppress
from functools import partial

from agui_host.backends import apart


async def test_a_payer_who_leaves_keeps_its_turn_until_its_thread_has_ended() -> None:
    release, running = threading.Event(), threading.Event()
    begun = 0

    def call() -> None:
        nonlocal begun
        begun += 1
        running.set()
        release.wait(30)

    for _ in range(20):  # the first works, the others leave before their turn
        task = asyncio.create_task(apart.in_turn("payer", call))
        while not running.is_set():
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert begun == 1
    assert await apart.in_turn("another", lambda: 1) == 1
    release.set()
    assert await apart.in_turn("payer", lambda: 2) == 2


async def test_an_error_is_the_callers_and_ends_the_turn() -> None:
    def fails() -> None:
        raise ValueError("no")

    for _ in range(5):
        (error,) = await asyncio.gather(apart.in_turn("p", fails), return_exceptions=True)
        assert isinstance(error, ValueError)


async def test_a_caller_that_goes_on_with_the_same_things_waits_for_the_end() -> None:
    release, running, ended = threading.Event(), threading.Event(), threading.Event()

    def call() -> None:
        running.set()
        release.wait(30)
        ended.set()

    task = asyncio.create_task(apart.to_its_end("payer", call))
    await asyncio.to_thread(running.wait, 30)
    task.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not task.done()
    release.set()
    (error,) = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(error, asyncio.CancelledError)
    assert ended.is_set()


class Values:
    """What a call works on."""


async def test_a_call_that_fails_leaves_its_values_to_nobody() -> None:
    """Without a look for cycles: those of a state are large, and such looks are seldom."""
    values = Values()
    reference = weakref.ref(values)

    def fails(values: Values) -> None:
        raise LookupError("no")

    gc.disable()
    try:
        with suppress(LookupError):
            await apart.to_its_end("payer", partial(fails, values))
        del values
        await asyncio.sleep(0)
        assert reference() is None
    finally:
        gc.enable()


async def test_a_payer_folds_one_log_at_a_time_and_keeps_nobody_from_theirs() -> None:
    order: list[str] = []

    async def fold(name: str) -> None:
        async with apart.fold_turn("payer"):
            order.append(name)

    async with apart.fold_turn("payer"):
        second = asyncio.create_task(fold("second"))
        async with asyncio.timeout(5), apart.fold_turn("another"):
            order.append("another")
        assert await apart.in_turn("payer", lambda: "an event") == "an event"
    await second
    assert order == ["another", "second"]
