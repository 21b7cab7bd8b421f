"""Fires the teams' schedules: a loop in every worker and every web process.

So a tick becomes a run in time while workers restart, or while an agent blocks a worker's loop.
The first to lock a schedule fires it (``runs/access/schedules/firing.py``). Here one schedule of a
team is fired at a time, and the teams take turns, so no team waits for the backlog of others.
"""

import asyncio
from collections import OrderedDict
from contextlib import suppress
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError

from agui_host.backends.postgres.bridge import db
from runs.access.schedules import firing
from runs.lifecycle.schedules import due
from runs.lifecycle.schedules.due import Due

log = structlog.get_logger(__name__)
POLL = 0.5
LOST = 0.1
AT_ONCE = 4
REMEMBERED = 1_000
"""Teams whose last turns are remembered; the ones before are treated as new."""


class Scheduler:
    """Looks for schedules that are due, and fires them."""

    def __init__(self) -> None:
        self._busy: dict[asyncio.Task[None], UUID] = {}
        self._served: OrderedDict[UUID, None] = OrderedDict()
        self._more = asyncio.Event()

    async def run(self) -> None:
        """Fire until cancelled; a tick that is cut off then is still due."""
        try:
            while True:
                self._more.clear()
                pause = POLL
                try:
                    pause = await self.fill()
                except (OperationalError, InterfaceError):
                    pass  # The database is away, which others report; try again soon.
                except Exception:
                    log.exception("schedules.failed")
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._more.wait()
        finally:
            for task in self._busy:
                task.cancel()
            await asyncio.gather(*self._busy, return_exceptions=True)

    async def fill(self) -> float:
        """Begin to fire due schedules; the seconds after which to look again."""
        pause = POLL
        if not self._busy:
            has_come, seconds = await db(due.outlook)
            pause = POLL if seconds is None else min(POLL, seconds)
            if not has_come:
                return pause
        if len(self._busy) < AT_ONCE:
            busy, most = set(self._busy.values()), AT_ONCE - len(self._busy)
            for occasion in await db(due.due, busy, most, list(self._served)):
                self._serve(occasion.team)
                task = asyncio.create_task(self._fire(occasion), name="schedule")
                self._busy[task] = occasion.team
                task.add_done_callback(self._done)
        return POLL if self._busy else pause

    def _serve(self, team: UUID) -> None:
        self._served[team] = None
        self._served.move_to_end(team)
        if len(self._served) > REMEMBERED:
            self._served.popitem(last=False)

    async def _fire(self, occasion: Due) -> None:
        try:
            if not await db(firing.fire, occasion):
                # Another process fires it; look again when that is likely to be over.
                await asyncio.sleep(LOST)
        except (OperationalError, InterfaceError):
            await asyncio.sleep(POLL)
        except Exception as error:
            log.warning("schedule.not_fired", schedule=str(occasion.schedule), error=repr(error))
            await asyncio.sleep(POLL)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._busy.pop(task, None)
        self._more.set()
