"""Chores: Procrastinate's worker, started again after each break of its connection.

A restart of PostgreSQL ends a worker of Procrastinate. Its tasks here can be repeated, and runs are
none of them (``runs/worker/taking``): so a new worker takes over, and the reaper releases the locks
of the one before.
"""

import asyncio
import copy
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import structlog
from procrastinate import App
from procrastinate.contrib.django import app as django_app
from procrastinate.contrib.django.db_cleanup import close_db_connections
from procrastinate.exceptions import ConnectorException
from procrastinate.job_context import JobContext
from procrastinate.jobs import DeleteJobCondition, Status
from procrastinate.middleware import TaskMiddleware
from procrastinate.periodic import PeriodicRegistry, PeriodicTask
from procrastinate.psycopg_connector import PsycopgConnector
from procrastinate.worker import Worker

from agui_host.backends.postgres.base import queue_parameters
from runs.lifecycle import jobs
from runs.worker import tasks

log = structlog.get_logger(__name__)

AT_ONCE = 4
"""Tasks at once. A purge can take ten minutes, and must not keep the others waiting so long."""
PAUSE = 0.5
LOOK = 10.0  # seconds between two looks for jobs that ended here without being deleted
A_DAY = 86_400
"""Seconds. A daily task that was due while no worker could defer it is deferred up to this late,
and no worker is pruned before: the reaper does that, with more patience."""
LEFT = """
select id from procrastinate_jobs
 where worker_id = %(worker)s and status = 'doing' and id <> all(%(here)s)
"""


class Chores:
    """The chores of one worker process."""

    def __init__(
        self, leaving: Callable[[], bool], middleware: Sequence[TaskMiddleware] = ()
    ) -> None:
        """``leaving``: whether tasks are to leave the rest of their work."""
        self._leaving, self._middleware = leaving, middleware
        self._is_over = False
        self._worker: Worker | None = None
        self._here: set[int] = set()

    @property
    def worker_id(self) -> int | None:
        """The id of the registration in Procrastinate."""
        return None if self._worker is None else self._worker.worker_id

    def stop(self) -> None:
        """Begin no more tasks, and return from ``run`` when those that have begun are over."""
        self._is_over = True
        if self._worker is not None:
            self._worker.stop()  # type: ignore[no-untyped-call]

    async def run(self) -> None:
        """Run chores until ``stop``, with one worker of Procrastinate after the other."""
        for name, _ in django_app.periodic_registry.periodic_tasks:
            tasks.failures_of(name)
        while not self._is_over:
            try:
                await self._work()
            except (ConnectorException, OSError) as error:
                log.warning("worker.chores_again", error=repr(error.__cause__ or error))
            if not self._is_over:
                await asyncio.sleep(PAUSE)

    async def _work(self) -> None:
        app = django_app.with_connector(PsycopgConnector(**queue_parameters()))
        app.periodic_registry = registry_of(app)
        app.periodic_defaults = {"max_delay": A_DAY}
        async with app.open_async():
            self._worker = worker = Worker(
                app,
                queues=[jobs.QUEUE],
                concurrency=AT_ONCE,
                abort_job_polling_interval=A_DAY,  # nothing aborts a chore
                delete_jobs=DeleteJobCondition.ALWAYS.value,
                additional_context={tasks.LEAVING: self._leaving},
                install_signal_handlers=False,
                update_heartbeat_interval=A_DAY,  # the watchdog's thread beats
                stalled_worker_timeout=A_DAY,
                # The threads of periodic tasks would each keep a connection, even a dead one.
                task_middleware=[close_db_connections, tasks.count_failures, *self._middleware],
                worker_middleware=[self._note],
            )
            if self._is_over:
                return
            looking = asyncio.create_task(self._look(app), name="left-chores")
            try:
                await worker.run()  # type: ignore[no-untyped-call]
            finally:
                looking.cancel()

    async def _note(
        self, call_next: Callable[[], Awaitable[Any]], context: JobContext, worker: Worker
    ) -> Any:
        job = context.job.id or 0
        self._here.add(job)
        try:
            return await call_next()
        finally:
            self._here.discard(job)

    async def _look(self, app: App) -> None:
        """End jobs whose end could not be stored: each would keep its lock as long as we live."""
        suspects: set[int] = set()
        while True:
            await asyncio.sleep(LOOK)
            here = list(self._here)
            try:
                rows = await app.connector.execute_query_all_async(
                    LEFT, worker=self.worker_id, here=here
                )
                left = {row["id"] for row in rows}
                for job in left & suspects:
                    await app.job_manager.finish_job_by_id_async(
                        job, Status.FAILED, delete_job=True
                    )
                suspects = left - suspects
            except ConnectorException as error:
                log.warning("worker.looking_for_chores_later", error=repr(error))


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
