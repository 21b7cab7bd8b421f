"""Offers new runs to a socket's subscriptions of threads, as far as its caller can see them."""

import asyncio
from collections.abc import Callable, Iterable, Set
from itertools import groupby
from operator import itemgetter
from uuid import UUID

from agui_host.backends.postgres.bridge import db_read
from agui_host.teams.authentication import Principal
from agui_host.web.host_socket.new_runs import Runs, floor, new_runs
from agui_host.web.host_socket.subscriptions import ThreadSubscription
from runs.access import following

Subscriptions = Callable[[], Iterable[ThreadSubscription]]


class Threads:
    """The threads that one socket watches."""

    def __init__(self, standing: Callable[[], Principal]) -> None:
        self._standing = standing
        self._nudge = asyncio.Event()
        self._subscriptions: Subscriptions = tuple
        self._found: Runs = {}

    def nudge(self) -> None:
        """Look at once: this socket has started a run."""
        self._nudge.set()

    def threads(self) -> Set[UUID]:
        """The threads of the subscriptions that have caught up."""
        return {each.thread for each in self._ready()}

    def learn(self, runs: Runs) -> None:
        """Look for runs of these that a subscription has not seen."""
        if any(each.lacks(runs.get(each.thread, ())) for each in self._ready()):
            self._found = runs
            self._nudge.set()

    async def watch(self, subscriptions: Subscriptions) -> None:
        """Look whenever there is something new, for as long as the task lives."""
        self._subscriptions = subscriptions
        every = new_runs()
        every.begin(self)
        try:
            while True:
                await self._nudge.wait()
                self._nudge.clear()
                if ready := self._ready():
                    await self._look(ready)
        finally:
            every.end(self)

    def _ready(self) -> list[ThreadSubscription]:
        return [each for each in self._subscriptions() if each.caught_up]

    async def _look(self, ready: list[ThreadSubscription]) -> None:
        candidates, self._found = self._found, {}
        since = floor()
        threads = {each.thread for each in ready}
        rows = await db_read(self._since, threads, since)
        rows.sort()
        runs = {thread: [run for _, run in pairs] for thread, pairs in groupby(rows, itemgetter(0))}
        for each in ready:
            each.offer(runs.get(each.thread, ()))
            each.looked_for(candidates.get(each.thread, ()))
            each.forget(since)

    def _since(self, threads: set[UUID], floor: UUID) -> list[tuple[UUID, UUID]]:
        return following.since(self._standing(), threads, floor)
