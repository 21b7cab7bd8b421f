"""One query per tick for the new runs of all threads that any socket of the process subscribes to.

A socket reads with its own rights only once there is a run that it has not seen.
"""

import asyncio
import contextvars
from collections.abc import Mapping, Set
from itertools import groupby
from operator import itemgetter
from typing import Protocol
from uuid import UUID
from weakref import WeakKeyDictionary

import structlog
from django.conf import settings

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.bridge import db
from agui_host.protocol.ids import uuid7_floor
from runs.access import following

log = structlog.get_logger(__name__)
LATE = 60.0
"""Seconds between the making of a run's id and its commit, at most."""

Runs = Mapping[UUID, Set[UUID]]
"""Runs by thread."""


class Watcher(Protocol):
    """A socket with subscriptions to threads."""

    def threads(self) -> Set[UUID]:
        """The threads that it waits for."""

    def learn(self, runs: Runs) -> None:
        """These runs were made lately; the caller possibly cannot see all of them."""


def floor() -> UUID:
    """Runs whose ids are higher can still be new: the database's clock has made both."""
    return uuid7_floor(clock.seconds() - LATE)


class NewRuns:
    """The sockets of one event loop; the task lives as long as one of them watches."""

    def __init__(self) -> None:
        self._watchers: set[Watcher] = set()
        self._task: asyncio.Task[None] | None = None

    def begin(self, watcher: Watcher) -> None:
        """Tell the watcher of new runs from now on."""
        self._watchers.add(watcher)
        if self._task is None or self._task.done():
            # It serves all sockets, not only the first to ask.
            self._task = asyncio.create_task(self._repeat(), context=contextvars.Context())

    def end(self, watcher: Watcher) -> None:
        """Undo ``begin``."""
        self._watchers.discard(watcher)
        if not self._watchers and self._task is not None:
            self._task.cancel()
            self._task = None

    async def look(self) -> None:
        """One tick."""
        threads: set[UUID] = set()
        for watcher in self._watchers:
            threads |= watcher.threads()
        if not threads:
            return
        rows = sorted(await db(following.made_since, threads, floor()))
        runs = {thread: {run for _, run in pairs} for thread, pairs in groupby(rows, itemgetter(0))}
        if runs:
            for watcher in list(self._watchers):
                watcher.learn(runs)

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(settings.AGUI_HUB_TICK)
            try:
                await self.look()
            except Exception as error:
                log.warning("new_runs.query_failed", error=repr(error))


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, NewRuns] = WeakKeyDictionary()


def new_runs() -> NewRuns:
    """Those of this process."""
    return _by_loop.setdefault(asyncio.get_running_loop(), NewRuns())
