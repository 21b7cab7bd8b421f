"""Procrastinate's worker, made to survive a restart of Postgres and to miss no job.

Unchanged, a failed LISTEN or fetch stops the worker, and with it every run it executes: a restart
of the database would end runs that lost nothing. And a job that is announced during a fetch, or
that waits for its thread's lock, would wait for the next poll.
"""

import asyncio
import copy
import logging
import time
from collections.abc import Callable, Iterable
from typing import Any

import psycopg
import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError
from procrastinate import App
from procrastinate.connector import Notify
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.jobs import Notification, Status
from procrastinate.periodic import PeriodicDeferrer, PeriodicRegistry, PeriodicTask
from procrastinate.psycopg_connector import PsycopgConnector
from procrastinate.worker import Worker

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.bridge import db
from agui_host.embedded.liveness import QUICK_GRACE
from runs.lifecycle import jobs
from runs.lifecycle.recovery import handing
from runs.worker.taking import CLAIMS, Taking

log = structlog.get_logger(__name__)
PAUSE = 0.5
LISTEN_CHECK = 5.0
UNSURE = 30.0  # seconds in which a statement whose answer was lost can still take effect
LOOK = 10.0  # seconds between two searches for jobs that are ours, but not running here
# A daily task that was due while no worker could defer it is deferred up to this late.
MAKE_UP = 86_400
# Periodic tasks at once. A purge can take ten minutes, and must not keep a run waiting so long.
CHORES = 20
LINES_OF_A_JOB = frozenset({"loaded_job_info", "start_job", "job_success", "finish_task"})
LOST_JOBS = """
select id from procrastinate_jobs
 where worker_id = %(worker_id)s and status = 'doing' and id <> all(%(here)s)
"""


class PatientConnector(PsycopgConnector):
    """Listens again after the connection was lost; the poll covers missed notifications."""

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Listen for jobs, and again after each break of the connection."""
        channels = list(channels)
        while True:
            try:
                await super().listen_notify(on_notification=on_notification, channels=channels)
            except ConnectorException as error:
                log.warning("worker.listening_again", error=repr(error))
            await asyncio.sleep(PAUSE)

    async def _loop_notify(
        self,
        on_notification: Notify,
        connection: psycopg.AsyncConnection[Any],
        timeout: float = LISTEN_CHECK,
    ) -> None:
        """Return when the connection is dead; an idle one is tested with a query."""
        try:
            while True:
                async for each in connection.notifies(timeout=timeout):
                    await on_notification(channel=each.channel, payload=each.payload)
                await connection.execute("select 1")
        except psycopg.OperationalError as error:
            log.warning("worker.listening_again", error=repr(error))


class Wakeups(asyncio.Event):
    """The worker's "there may be a job" event, which it clears after each fetch.

    A job announced since the last ``clear`` may have come too late for the fetch just done, so the
    event stays set for one more. Otherwise one start in thirty waited for the poll (0.5 s).

    ``count`` is how often it was set.
    """

    count = 0
    _again = False

    def set(self) -> None:
        """Wake the waiting tasks; the next ``clear`` leaves the event set."""
        self.count += 1
        self._again = True
        super().set()

    def clear(self) -> None:
        """Forget the wake-up, unless another came since the last one."""
        again, self._again = self._again, False
        if not again:
            super().clear()


class PatientWorker(Worker):
    """Fetches again after the database was away. The watchdog's thread sends its heartbeat."""

    def __init__(
        self,
        app: App,
        concurrency: int = 1,
        *,
        registered: Callable[[int], object] = lambda _: None,
        **kwargs: Any,
    ) -> None:
        """``concurrency``: how many runs it executes at once; no other job takes their places.

        ``registered`` is called with the worker's id as soon as the worker has one.
        """
        super().__init__(app, concurrency=concurrency + CHORES, **kwargs)
        self._most_runs = concurrency
        self._new_job_event = wakeups = Wakeups()
        # A separate app, since its manager fetches for this worker only.
        self.app = self.app.with_connector(self.app.connector)
        self._taking = Taking(
            self.app.connector,
            free=self._free,
            wakeups=lambda: wakeups.count,
            registered=registered,
        )
        self.app.job_manager = self._taking
        self.additional_context = {**(self.additional_context or {}), CLAIMS: self._taking.claims}
        self._logs_jobs = self.logger.isEnabledFor(logging.INFO)
        self._unsure_until = self._look_at = 0.0
        self._drained_by = float("inf")

    def _free(self) -> int:
        """How many more runs have room. One waiting for a fetch to delete its job has ended."""
        running = [context.job for context in self._running_jobs.values()]
        return self._most_runs - sum(
            job.task_name == jobs.TASK and job.id not in self._taking.ended for job in running
        )

    def _log_extra(self, action: str, *args: Any, **kwargs: Any) -> Any:
        """Copies of the job for four lines of the log, made only if such lines are written."""
        is_needed = self._logs_jobs or action not in LINES_OF_A_JOB
        return super()._log_extra(action, *args, **kwargs) if is_needed else {}

    async def _persist_job_status(self, *args: Any, **kwargs: Any) -> None:
        """A job that ends releases its lock, for which the thread's next job can be waiting."""
        try:
            await super()._persist_job_status(*args, **kwargs)
        except ConnectorException as error:
            self._lost_an_answer("worker.finishing_again", error)
        self._new_job_event.set()

    async def _handle_notification(self, *, channel: str, notification: Notification) -> None:
        if notification["type"] != "job_inserted" or self._taking.is_news(notification["job_id"]):
            await super()._handle_notification(channel=channel, notification=notification)

    async def _fetch_and_process_jobs(self) -> None:
        try:
            now = time.monotonic()
            if now < self._unsure_until or now >= self._look_at:
                self._look_at = now + LOOK
                await self._put_back_lost_jobs()
            if not self._new_job_event.is_set():  # nothing rang: this is the poll
                self._taking.look_again()
            await super()._fetch_and_process_jobs()  # type: ignore[no-untyped-call]
            for job in self._taking.left():  # it was told to stop meanwhile
                await self._put_back(job)
        except ConnectorException as error:
            self._lost_an_answer("worker.fetching_again", error)
            await asyncio.sleep(PAUSE)

    def _lost_an_answer(self, event: str, error: ConnectorException) -> None:
        log.warning(event, error=repr(error.__cause__ or error))
        self._unsure_until = time.monotonic() + UNSURE

    async def _put_back_lost_jobs(self) -> None:
        """Queue again jobs that are ours but not here: the answer to a fetch or an end was lost.

        Nothing else fetches at that time, so no such job has just arrived. If its run has ended, an
        executor leaves it alone.
        """
        here = [context.job.id for context in self._running_jobs.values()]
        here += self._taking.ended
        rows = await self.app.connector.execute_query_all_async(
            LOST_JOBS, worker_id=self.worker_id, here=here
        )
        for row in rows:
            log.warning("worker.put_job_back", job=row["id"])
            await self._put_back(row["id"])

    async def _put_back(self, job_id: int) -> None:
        manager = self.app.job_manager
        try:
            await manager.retry_job_by_id_async(job_id, clock.now())
        except UniqueViolation:  # the same periodic task is queued again already
            await manager.finish_job_by_id_async(job_id, Status.ABORTED, delete_job=True)
        self._taking.look_again()  # it notifies no worker

    async def _periodic_deferrer(self) -> None:
        """Tasks that were due while the database was away are deferred once each."""
        while True:
            try:
                deferrer = PeriodicDeferrer(registry_of(self.app), max_delay=MAKE_UP)
                await deferrer.worker()
                return
            except ConnectorException as error:
                log.warning("worker.deferring_again", error=repr(error.__cause__ or error))
                await asyncio.sleep(PAUSE)

    def hurry(self) -> None:
        """Stop, and give the runs ``QUICK_GRACE`` instead of ``AGUI_WORKER_GRACE``."""
        self._drained_by = min(self._drained_by, time.monotonic() + QUICK_GRACE)
        self.stop()  # type: ignore[no-untyped-call]

    async def _shutdown(self, side_tasks: list[asyncio.Task[Any]]) -> None:
        # Drain first. The side tasks continue until then, so that a run can still be cancelled.
        await self._drain()
        try:
            await super()._shutdown(side_tasks)
        finally:
            await self._end_jobs()

    async def _drain(self) -> None:
        """Wait until every run is over, for ``AGUI_WORKER_GRACE`` at most."""
        grace = settings.AGUI_WORKER_GRACE
        self._drained_by = min(self._drained_by, time.monotonic() + grace)
        if self._running_jobs:
            log.info("worker.draining", jobs=len(self._running_jobs), grace=grace)
        handed: set[int] = set()
        while self._running_jobs and (left := self._drained_by - time.monotonic()) > 0:
            await self._hand_over(handed)
            if self._running_jobs:  # they can have ended meanwhile
                await asyncio.wait(self._running_jobs, timeout=min(left, PAUSE))
            await self._end_jobs()
            # A job whose end could not be stored keeps its thread's lock as long as we live.
            if time.monotonic() < self._unsure_until:
                try:
                    await self._put_back_lost_jobs()
                except ConnectorException as error:
                    self._lost_an_answer("worker.finishing_again", error)

    async def _hand_over(self, looked_at: set[int]) -> None:
        """Stop the runs that another worker continues; ``looked_at`` are jobs of earlier calls.

        With a database that is away they drain like the others.
        """
        running = [context.job.id for context in self._running_jobs.values()]
        new = [job for job in running if job is not None and job not in looked_at]
        if not new:
            return
        try:
            async with asyncio.timeout(LOOK):
                continued = await db(handing.jobs_of_continued, new)
        except (DatabaseError, InterfaceError, TimeoutError) as error:
            log.warning("worker.handing_over_later", error=repr(error))
            return
        looked_at.update(new)
        for task, context in list(self._running_jobs.items()):
            if context.job.id in continued:
                task.cancel()

    async def _end_jobs(self) -> None:
        """End the jobs that wait for a fetch: a worker that stops fetches no more."""
        try:
            await self._taking.flush()
        except ConnectorException as error:
            self._lost_an_answer("worker.finishing_again", error)

    async def _update_heartbeat(self) -> None:
        await asyncio.Event().wait()


def registry_of(app: App) -> PeriodicRegistry:
    """The periodic tasks, deferred through the worker's pool.

    By default they use Django's app, whose connection belongs to a thread of asgiref where it is
    never closed: after a restart of PostgreSQL it stays dead.
    """
    registry = PeriodicRegistry()  # type: ignore[no-untyped-call]
    for key, periodic in app.periodic_registry.periodic_tasks.items():
        task = copy.copy(periodic.task)
        task.blueprint = app
        registry.periodic_tasks[key] = PeriodicTask(
            task, periodic.cron, periodic.periodic_id, periodic.configure_kwargs
        )
    return registry
