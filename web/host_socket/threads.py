"""Looks for new runs of all threads that a socket subscribes to: one query per tick."""

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from uuid import UUID

from django.conf import settings

from backends.postgres.bridge import db_read
from protocol.ids import uuid7_floor
from runs.access import following
from teams.authentication import Principal
from web.host_socket.subscriptions import ThreadSubscription

LATE = 60.0
"""Seconds between the making of a run's id and its commit, at most; clocks may differ, too."""


class Threads:
    """Offers new runs to the subscriptions of their threads."""

    def __init__(self, standing: Callable[[], Principal]) -> None:
        self._standing = standing
        self._nudge = asyncio.Event()

    def nudge(self) -> None:
        """Look at once: this socket has started a run."""
        self._nudge.set()

    async def watch(self, subscriptions: Callable[[], Iterable[ThreadSubscription]]) -> None:
        """Look every ``AGUI_HUB_TICK`` seconds, for as long as the task lives."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(settings.AGUI_HUB_TICK):
                    await self._nudge.wait()
            self._nudge.clear()
            ready = [each for each in subscriptions() if each.caught_up]
            if ready:
                await self._look(ready)

    async def _look(self, ready: list[ThreadSubscription]) -> None:
        floor = uuid7_floor(time.time() - LATE)
        threads = {each.thread for each in ready}
        rows = await db_read(self._since, threads, floor)
        rows.sort()
        runs = {thread: [run for _, run in pairs] for thread, pairs in groupby(rows, itemgetter(0))}
        for each in ready:
            each.offer(runs.get(each.thread, ()))
            each.forget(floor)

    def _since(self, threads: set[UUID], floor: UUID) -> list[tuple[UUID, UUID]]:
        return following.since(self._standing(), threads, floor)
