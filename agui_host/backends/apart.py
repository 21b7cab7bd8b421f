"""Work on a tenant's data off the event loop: a turn for each payer, and a few for the process.

A payer is a team, or the address of a link's visitor. Above its share its work waits.
"""

import asyncio
import contextvars
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from agui_host.backends import work
from agui_host.backends.held import LIVE, Held, Live, Memory
from agui_host.protocol.patient_json import PIECE

T = TypeVar("T")

SMALL = 16 * 1024
"""Bytes that are processed on the event loop."""
AT_ONCE = 2
VALUE_BYTES = 150
"""Memory of a value of a parsed event, and of its checked copy. An empty array takes 64 bytes, the
member of a large object 140, an object of one member 230."""
UNDER_WAY = (256_000_000, 96_000_000)
"""Bytes of events that a process and a team have read and not yet appended."""
EVENT = "event"
"""The part of a live run that is the current event."""


class Turns:
    """The calls at work: one call of a payer, ``AT_ONCE`` of the process."""

    def __init__(self) -> None:
        self.slots = asyncio.Semaphore(AT_ONCE)
        self.folds = asyncio.Semaphore(AT_ONCE)
        self.memory, self.live = Held(*UNDER_WAY), Live(*LIVE)
        self.waiting: deque[asyncio.Event] = deque()
        self._payers: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, payer: str) -> asyncio.Lock:
        """The lock that the payer's calls share."""
        return self._payers.setdefault(payer, asyncio.Lock())


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()


def of_this_loop() -> Turns:
    """The calls at work on the running event loop."""
    return _turns.setdefault(asyncio.get_running_loop(), Turns())


@asynccontextmanager
async def fold_turn(payer: object) -> AsyncIterator[None]:
    """Hold the payer's one turn to fold a stored log, of ``AT_ONCE`` in this process.

    A fold of megabytes holds its log, its values and its text, many times as much.
    """
    turns = of_this_loop()
    async with turns.of(f"folds of {payer}"), turns.folds:
        yield


_memory: contextvars.ContextVar[Memory | None] = contextvars.ContextVar("_memory", default=None)


@contextmanager
def keeping(team: object, run: object) -> Iterator[Memory]:
    """``memory`` is of this new live run in the block, and in tasks that it begins."""
    token = _memory.set(live := Memory(of_this_loop().live, team, run))
    try:
        yield live
    finally:
        _memory.reset(token)


def memory() -> Memory:
    """The memory of the live run that calls this; of another caller nothing is counted."""
    return _memory.get() or Memory(Live(*LIVE), "")


async def values_of(payer: object, text: bytes | str) -> int:
    """``work.values_of``, counted in a thread, in the payer's turn, if the text is long."""
    if len(text) <= PIECE:
        return work.values_of(text)
    async with of_this_loop().of(str(payer)):
        return await asyncio.get_running_loop().run_in_executor(None, work.values_of, text)


@asynccontextmanager
async def room(payer: object, text: bytes | str) -> AsyncIterator[None]:
    """Hold the memory that the values of a long event take, from its parsing to its end.

    A payer's turn is over when an event is parsed: without this, each of its runs could hold one
    while it waits for the next turn, or for the payer to be below its share. A payer that holds
    nothing does not wait for others. A run also waits here while live runs keep too much.
    """
    turns, size = of_this_loop(), sys.getsizeof(text) + VALUE_BYTES * await values_of(payer, text)
    await (run := memory()).room(size)
    while not turns.memory.take(payer, size):
        if not turns.memory.of(payer):
            turns.memory.add(payer, size)
            break
        turns.waiting.append(given_back := asyncio.Event())
        try:
            await given_back.wait()
        finally:
            if given_back in turns.waiting:
                turns.waiting.remove(given_back)
    run.note(EVENT, size)
    try:
        yield
    finally:
        run.note(EVENT, 0)
        turns.memory.give_back(payer, size)
        while turns.waiting:
            turns.waiting.popleft().set()


async def lump(payer: object) -> None:
    """Give the loop back; return when the payer, below its share, may do more work on it.

    The callers of a payer have turns: the loop looks at what others wait for after each of them.
    """
    async with of_this_loop().of(f"lumps of {payer}"):
        await asyncio.sleep(0)
        while seconds := work.debt(payer):
            await asyncio.sleep(seconds)


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
    finally:
        del future  # It holds its exception, and that holds this frame and the call's values.


async def _begun(payer: object, call: Callable[[], T]) -> asyncio.Future[T]:
    loop = asyncio.get_running_loop()
    turns = of_this_loop()
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
