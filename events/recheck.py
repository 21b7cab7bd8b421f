"""Re-checks the right to read while a stream is open: at notifications, and at intervals.

It depends on no user: it gets topics and a callable that knows which readers may go on. It runs
next to the sending rather than in it, so that a reader that takes nothing, or never pauses, loses
its stream as quickly as any other.

Readers with the same question share its checks, whatever the subject of each: 5,000 silent readers
of one credential would otherwise take half a core here and half a core of PostgreSQL, with a query
each at every heartbeat, and 100 runs that start together as many queries soon after.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Hashable
from typing import Any, Generic, TypeVar

from events.hub import Hub, hub

SOON = 1.0
"""The first check after a stream has opened starts within this many seconds."""
MOST = 200
"""How many subjects are asked for at once: others get their turn before the next."""
Recheck = Callable[[], Awaitable[bool]]
Subject = TypeVar("Subject", bound=Hashable)
Remaining = Callable[[Collection[Subject]], Awaitable[Collection[Subject]]]
Reader = asyncio.Future[None]


async def until_refused(topics: Collection[str], recheck: Recheck, every: float) -> None:
    """Return once ``recheck`` is false; called at a topic's notification, else ``every`` seconds.

    Raises the error of ``recheck``.
    """

    async def remaining(asked: Collection[None]) -> Collection[None]:
        return asked if await recheck() else ()

    await until_lost(topics, remaining, every, question=object(), subject=None)


async def until_lost(
    topics: Collection[str],
    remaining: Remaining[Subject],
    every: float,
    *,
    question: Hashable,
    subject: Subject,
) -> None:
    """Return once the subject is not among those that remain; asked like ``until_refused``.

    Readers who give the same ``question`` share the calls, each of which asks for all of their
    subjects: their ``topics`` and their ``remaining`` must be interchangeable. Raises the error of
    ``remaining``.
    """
    key = (hub(), question)
    watch = _watches.get(key) or _Watch(key, topics, remaining, every)
    await watch.until_lost(subject)


class _Watch(Generic[Subject]):
    """One question, asked again and again for all of its readers.

    The first check comes soon after a reader, and is for new ones only, because a revocation
    shortly before can have rung without them. Streams that were opened together, after a restart
    say, must not keep checking together: 50 that did held up the events of all of them for 100 ms,
    each time.
    """

    def __init__(
        self,
        key: tuple[Hub, Hashable],
        topics: Collection[str],
        remaining: Remaining[Subject],
        every: float,
    ) -> None:
        self._key, self._topics, self._remaining, self._every = key, topics, remaining, every
        self._readers: dict[Reader, Subject] = {}
        self._new: dict[Reader, Subject] = {}
        self._soon: asyncio.TimerHandle | None = None
        self._listens = False
        self._first: asyncio.Task[None] | None = None
        self._task = asyncio.create_task(self._serve(), name="recheck")
        _watches[key] = self

    async def until_lost(self, subject: Subject) -> None:
        """Wait as one of the readers."""
        reader: Reader = asyncio.get_running_loop().create_future()
        self._readers[reader] = self._new[reader] = subject
        if self._listens:
            self._look_soon()
        try:
            await reader
        finally:
            del self._readers[reader]
            self._new.pop(reader, None)
            if not self._readers:
                self._end()

    async def _serve(self) -> None:
        try:
            async with hub().listening(self._topics) as ring:
                self._listens = True
                self._look_soon()
                while True:
                    await ring.next(self._every * random.uniform(0.8, 1.0))  # noqa: S311
                    await self._check(dict(self._readers))
        except Exception as error:
            self._end()
            _raise(error, self._readers)

    def _look_soon(self) -> None:
        if self._soon is None:
            wait = min(random.uniform(0.2, SOON), self._every)  # noqa: S311
            self._soon = asyncio.get_running_loop().call_later(wait, self._look)

    def _look(self) -> None:
        self._soon = None
        if self._first is not None and not self._first.done():
            self._look_soon()
        elif self._new:
            self._first = asyncio.create_task(self._check(dict(self._new)), name="first recheck")

    async def _check(self, readers: dict[Reader, Subject]) -> None:
        by_subject: dict[Subject, list[Reader]] = defaultdict(list)
        for reader, subject in readers.items():
            by_subject[subject].append(reader)
            # A reader that comes from here on may need a later answer than this one.
            self._new.pop(reader, None)
        subjects = list(by_subject)
        try:
            for first in range(0, len(subjects), MOST):
                asked = subjects[first : first + MOST]
                for subject in set(asked).difference(await self._remaining(asked)):
                    for reader in by_subject[subject]:
                        if not reader.done():
                            reader.set_result(None)
        except Exception as error:
            _raise(error, readers)

    def _end(self) -> None:
        """Forget it: a reader that comes from here on gets a watch of its own."""
        if _watches.get(self._key) is self:
            del _watches[self._key]
        if self._soon is not None:
            self._soon.cancel()
        for task in (self._task, self._first):
            if task is not None and task is not asyncio.current_task():
                task.cancel()


def _raise(error: Exception, readers: Collection[Reader]) -> None:
    for reader in readers:
        if not reader.done():
            reader.set_exception(error)


_watches: dict[tuple[Hub, Hashable], _Watch[Any]] = {}
