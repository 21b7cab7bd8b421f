"""Work off the loop: turns of payers, kept until the thread has ended."""

import asyncio
import threading

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
