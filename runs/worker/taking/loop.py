"""The loop of a worker: it takes runs while it has room, executes them, and drains at its end."""

import asyncio
import functools
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.bridge import db
from agui_host.embedded.liveness import QUICK_GRACE
from events.writer import JournalWriter
from runs.lifecycle import jobs
from runs.lifecycle.handover import handed
from runs.lifecycle.handover.handed import Handed
from runs.lifecycle.recovery import handing
from runs.lifecycle.statements.claims import Claimed, of_thread
from runs.worker.continuing import claims
from runs.worker.executor import Stop, execute, execute_claim
from runs.worker.taking import listening, registration, take
from runs.worker.taking.hands import Hands
from runs.worker.taking.take import Taken

log = structlog.get_logger(__name__)
Claiming = Callable[[], Coroutine[Any, Any, Claimed | None]]

MOST = 4
"""Runs of one take. A worker that finds many begins them in small groups: the events of its other
runs, and other workers, get their turns in between. With 16, fifty starts at a time were a fifth
slower, since all waited for each other."""
REST = 0.02
"""Seconds between two takes of one run each, while a worker executes runs of several teams. One
team's backlog could occupy the processors for seconds otherwise."""
POLL, CANCEL_POLL = 0.5, 1.0
"""Seconds between looks for due runs and for cancels, if no notification comes."""
PAUSE = 0.5
UNSURE = 30.0  # seconds in which a statement whose answer was lost can still take effect
LOOK = 10.0  # seconds between two searches for runs that are ours, but not executed here


@dataclass(slots=True)
class Executed:
    """A run that is executed here, and the reason for which it is to stop."""

    run: UUID
    team: UUID
    why: Stop | None = None


class Runs:
    """The runs of one worker."""

    def __init__(
        self,
        writer: JournalWriter,
        queues: Sequence[str],
        *,
        registered: Callable[[int], object] = lambda _: None,
        leaving: Callable[[], bool] = lambda: False,
        lives: Callable[[], bool] = lambda: True,
        concurrency: int | None = None,
        scraped_at: str = "",
    ) -> None:
        """``queues`` are the names of agents' queues.

        ``registered`` is called with the worker's id before it takes a run; while ``leaving``, runs
        that are stopped without a reason end as those of a worker that shuts down. A
        worker that no longer ``lives`` for the others begins no run that was handed to it.
        It answers scrapes at ``scraped_at``.
        """
        self.id: int | None = None
        self._writer, self._queues = writer, list(queues)
        self._registered, self._leaving, self._lives = registered, leaving, lives
        self._scraped_at = scraped_at
        self._most = concurrency or settings.AGUI_WORKER_CONCURRENCY
        self._running: dict[asyncio.Task[None], Executed] = {}
        self._executed: set[UUID] = set()
        """Runs that were executed here since the last search; one that has not ended is lost."""
        self._woken, self._cancelling = asyncio.Event(), asyncio.Event()
        self._stopping = asyncio.Event()
        self._taken_at = float("-inf")
        self._unsure_until = self._look_at = 0.0
        self._searches = self._taking = 0
        self._drained_by = float("inf")
        self._hands = Hands(
            self._begin_handed, may_begin=self._may_begin, missed=self._search, pause=self._pause
        )

    @property
    def free(self) -> int:
        """How many more runs have room."""
        return self._most - len(self._running)

    @property
    def seconds_left(self) -> float:
        """Until a worker that stops gives up waiting for its runs."""
        return max(0.0, self._drained_by - time.monotonic())

    @property
    def here(self) -> set[UUID]:
        """The runs that are executed here."""
        return {executed.run for executed in self._running.values()}

    def stop(self) -> None:
        """Take no more runs, and return from ``run`` when those here are over."""
        self._stopping.set()
        self._woken.set()

    def hurry(self) -> None:
        """Stop, and give the runs ``QUICK_GRACE`` instead of ``AGUI_WORKER_GRACE``."""
        self._drained_by = min(self._drained_by, time.monotonic() + QUICK_GRACE)
        self.stop()

    async def run(self) -> None:
        """Take and execute runs until ``stop``, then drain."""
        self.id = await db(
            registration.register, self._queues, self.free, self._hands.link, self._scraped_at
        )
        self._registered(self.id)
        await self._hands.open()
        if adopted := await db(jobs.adopt):
            log.info("worker.adopted_jobs", runs=adopted)
        sides = [
            asyncio.create_task(listening.listen(self._on_payload), name="listening"),
            asyncio.create_task(self._watch_cancels(), name="cancels"),
        ]
        try:
            while not self._stopping.is_set():
                await self._step()
            # The side tasks continue until then, so that a run can still be cancelled.
            await self._drain()
        finally:
            self._hands.close()
            for side in sides:
                side.cancel()
            await self._end()

    def _on_payload(self, payload: str) -> None:
        kind, _, name = payload.partition(":")
        if kind == jobs.CANCEL:
            if any(str(run) == name for run in self.here):
                self._cancelling.set()
            return
        worker, _, queue = name.partition(":")
        if not name or (worker in ("", str(self.id)) and queue in self._queues):
            self._woken.set()

    async def _step(self) -> None:
        self._woken.clear()
        are_more = False
        try:
            await self._look()
            if self.free > 0:
                are_more = await self._take()
        except (DatabaseError, InterfaceError) as error:
            log.warning("worker.taking_again", error=repr(error))
            self._unsure_until = time.monotonic() + UNSURE
            await asyncio.sleep(PAUSE)
        if not are_more:
            await _wait(self._woken, POLL)

    async def _take(self) -> bool:
        """Take runs and begin them; whether there can be more."""
        assert self.id is not None  # noqa: S101  for mypy
        most = min(MOST, self.free)
        if rest := self._pause():
            most = 1
            await asyncio.sleep(self._taken_at + rest - time.monotonic())
        self._taking = most
        try:
            taken = await db(take.take, self.id, self._queues, most)
        finally:
            self._taking = 0
        if taken:
            self._taken_at = time.monotonic()
        for run in taken:
            self._begin(run)
        return len(taken) == most

    def _pause(self) -> float:
        """Seconds between the beginnings of two runs."""
        return REST if len({executed.team for executed in self._running.values()}) > 1 else 0.0

    def _may_begin(self, run: UUID) -> bool:
        known = run in self.here or run in self._executed
        has_room = self.free > self._taking and not self._stopping.is_set()
        return has_room and not known and self._lives()

    def _begin_handed(self, run: Handed) -> None:
        claimed = None
        # Most agents and teams are known, and then the database is not asked, which Django refuses
        # here. Otherwise, or if the run cannot be read, its executor does this in a thread.
        if run.is_whole:
            with suppress(Exception):
                claimed = handed.claimed(run)
        claim = functools.partial(self._read, functools.partial(handed.claimed, run))
        self._begin(Taken(run.run, run.team, run.row["traceparent"], None, claimed), claim)

    async def _read(self, read: Callable[[], Claimed | None]) -> Claimed | None:
        """A run that was claimed for this worker already, for its executor."""
        claimed = await db(read)
        # If that took long, this worker may have been given up: then the run is another's.
        return claimed if self._lives() else None

    def _begin(self, taken: Taken, claim: Claiming | None = None) -> None:
        """Execute a run, by this ``claim`` if it was made for this worker with the run."""
        executed = Executed(taken.run, taken.team)
        if claim is None and taken.generation is not None:
            read = functools.partial(of_thread, taken.run, taken.generation)
            claim = functools.partial(self._read, read)
        claim = claim or functools.partial(db, claims.claim, taken.run, clock.now())
        task = asyncio.create_task(self._execute(taken, claim, executed), name=f"run {taken.run}")
        self._running[task] = executed
        task.add_done_callback(self._over)

    async def _execute(self, taken: Taken, claim: Claiming, executed: Executed) -> None:
        def why() -> Stop:
            return executed.why or (Stop.SHUTDOWN if self._leaving() else Stop.CANCEL)

        if taken.claimed is not None:
            await execute(taken.claimed, self._writer, why, traceparent=taken.traceparent)
            return
        # The claim can take as long as the reaper allows between a take and the start of a run.
        await execute_claim(
            claim,
            self._writer,
            why,
            retry_seconds=settings.AGUI_WORKER_LOST_AFTER,
            traceparent=taken.traceparent,
        )

    def _over(self, task: asyncio.Task[None]) -> None:
        if self.free == 0:
            self._woken.set()
        executed = self._running.pop(task)
        self._executed.add(executed.run)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("worker.run_failed", run=str(executed.run), exc_info=error)
            self._search()

    def _search(self) -> None:
        """Search for lost runs at once."""
        self._look_at = 0.0
        self._woken.set()

    async def _look(self) -> None:
        """Search for lost runs if it is time to, or if the answer to a take was lost."""
        now = time.monotonic()
        if now < self._unsure_until or now >= self._look_at:
            self._look_at = now + LOOK
            await self._put_back()

    async def _put_back(self) -> None:
        """Call it while nothing is being taken."""
        assert self.id is not None  # noqa: S101  for mypy
        with self._hands.searching() as put_back:
            here, over = self.here, set(self._executed)
            self._searches += 1
            for run in await db(take.put_back, self.id, self._searches, here, over - here):
                put_back(run)
                log.warning("worker.put_run_back", run=str(run))
        self._executed -= over  # What had not ended is this worker's no longer.

    async def _watch_cancels(self) -> None:
        while True:
            await _wait(self._cancelling, CANCEL_POLL)
            self._cancelling.clear()
            if not self._running or self.id is None:
                continue
            try:
                cancelled = await db(take.cancelled, self.id)
            except (DatabaseError, InterfaceError) as error:
                log.warning("worker.looking_for_cancels_later", error=repr(error))
                continue
            self._stop_runs(cancelled, Stop.CANCEL)

    def _stop_runs(self, runs: set[UUID], why: Stop) -> None:
        for task, executed in list(self._running.items()):
            if executed.run in runs and executed.why is None:
                executed.why = why
                task.cancel()

    async def _drain(self) -> None:
        """Wait until every run is over, for ``AGUI_WORKER_GRACE`` at most."""
        self._hands.close()
        grace, began = settings.AGUI_WORKER_GRACE, time.monotonic()
        self._drained_by = min(self._drained_by, began + grace)
        if self._running:
            log.info("worker.draining", runs=len(self._running), grace=grace)
        due: dict[UUID, float] = {}
        while self._running and self.seconds_left > 0:
            await self._read_graces(due, began)
            now = time.monotonic()
            self._stop_runs({run for run, moment in due.items() if moment <= now}, Stop.SHUTDOWN)
            if self._running:  # they can have ended meanwhile
                left = [moment - now for moment in due.values() if moment > now]
                pause = min(self.seconds_left, PAUSE, *left)
                await asyncio.wait(set(self._running), timeout=pause)
        for task, executed in list(self._running.items()):
            executed.why = executed.why or Stop.SHUTDOWN
            task.cancel()
        if self._running:
            await asyncio.wait(set(self._running))

    async def _read_graces(self, due: dict[UUID, float], began: float) -> None:
        """Add to ``due`` the moment at which each run is to be handed over or ended.

        Runs without a grace of their agent's have as long as the worker; while the database is
        away, so have runs whose agents were not read.
        """
        new = self.here - due.keys()
        try:
            async with asyncio.timeout(LOOK):
                await self._look()
                graces = await db(handing.graces, new) if new else {}
        except (DatabaseError, InterfaceError, TimeoutError) as error:
            log.warning("worker.handing_over_later", error=repr(error))
            return
        due |= {run: began + graces.get(run, float("inf")) for run in new}

    async def _end(self) -> None:
        """Leave: what this worker has not executed is due again at once."""
        assert self.id is not None  # noqa: S101  for mypy
        try:
            worker, self.id = self.id, None  # No heartbeat misses the row.
            for run in await db(take.leave, worker, self._executed):
                log.warning("worker.put_run_back", run=str(run))
        except (DatabaseError, InterfaceError) as error:
            log.warning("worker.leaving_registered", error=repr(error))


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
