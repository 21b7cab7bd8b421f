"""Work on a tenant's data off the event loop: a turn for each payer, and a few for the process.

A payer is a team, or the address of a link's visitor. Above its share its work waits.
"""

import asyncio
import contextvars
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from agui_host.backends import work

T = TypeVar("T")

SMALL = 16 * 1024
"""Bytes that are processed on the event loop."""
AT_ONCE = 2


class Turns:
    """The calls at work: one call of a payer, ``AT_ONCE`` of the process."""

    def __init__(self) -> None:
        self.slots = asyncio.Semaphore(AT_ONCE)
        self._payers: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, payer: str) -> asyncio.Lock:
        """The lock that the payer's calls share."""
        return self._payers.setdefault(payer, asyncio.Lock())


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()


async def in_turn(payer: object, call: Callable[[], T]) -> T:
    """The result of ``call``, made in a thread once the payer is below its share and has its turn.

    ``call`` charges its own work.
    """
    return await asyncio.shield(await _begun(payer, call))


async def to_its_end(payer: object, call: Callable[[], T]) -> T:
    """``in_turn`` for a call that changes its caller's data.

    A caller that is cancelled meanwhile waits until the thread has ended.
    """
    future = await _begun(payer, call)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait({future})
        raise


async def _begun(payer: object, call: Callable[[], T]) -> asyncio.Future[T]:
    loop = asyncio.get_running_loop()
    turns = _turns.setdefault(loop, Turns())
    turn, slots = turns.of(str(payer)), turns.slots
    await turn.acquire()
    try:
        while seconds := work.debt(payer):
            await asyncio.sleep(seconds)
        await slots.acquire()
    except BaseException:
        turn.release()
        raise
    future = loop.run_in_executor(None, contextvars.copy_context().run, call)

    def ended(future: asyncio.Future[T]) -> None:
        # Not before the thread has ended, even if its caller has left.
        slots.release()
        turn.release()
        if not future.cancelled():
            future.exception()

    future.add_done_callback(ended)
    return future
