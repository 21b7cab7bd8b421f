"""The worker process: Procrastinate's worker, the JournalWriter, the reaper and the watchdog."""

import asyncio
import logging
import signal
from collections.abc import Sequence

from django.conf import settings
from procrastinate import App
from procrastinate.contrib.django import app as django_app
from procrastinate.contrib.django.db_cleanup import close_db_connections
from procrastinate.jobs import DeleteJobCondition

from agui_host.backends import interpreter, metrics
from agui_host.backends.postgres.base import queue_parameters
from agui_host.backends.postgres.clock_watch import ClockWatch
from agui_host.embedded.liveness import QUICK_GRACE
from events.hub import hub
from events.writer import JournalWriter
from runs.lifecycle import admission, jobs
from runs.worker import reaper, tasks
from runs.worker.agent.inboxes import inboxes
from runs.worker.deliveries import Deliverer
from runs.worker.notices.pushing import Pusher
from runs.worker.resilience import PatientConnector, PatientWorker
from runs.worker.scheduler import Scheduler
from runs.worker.watchdog import Heartbeat, Watchdog

A_DAY = 86_400


async def work(watchdog: Watchdog, queues: Sequence[str]) -> None:
    """Execute the runs of these queues until ``watchdog.stop_worker``; let them finish; return.

    Writer and worker share a TaskGroup: the death of either ends the process. The writer outlives
    the worker at shutdown, since the runs' last events pass through it.
    """
    interpreter.settle()
    metrics.slots.set(settings.AGUI_WORKER_CONCURRENCY)
    if settings.AGUI_METRICS_ADDRESS:
        metrics.serve(settings.AGUI_METRICS_ADDRESS)
    writer = JournalWriter(admission.FOLLOW_UP)
    app = django_app.with_connector(PatientConnector(**queue_parameters()))
    async with app.open_async(), asyncio.TaskGroup() as group:
        writing = group.create_task(writer.run(), name="journal-writer")
        # Without the writer no run can end well, so there is no point in a long grace period.
        writing.add_done_callback(lambda _: watchdog.hurry())
        worker = _worker(app, writer, queues, watchdog)
        watchdog.on_stop, watchdog.on_hurry = worker.stop, worker.hurry
        # Not the loop's handlers: a loop that an agent blocks does not call them.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda received, _: watchdog.on_signal(received))
        heartbeat = Heartbeat(
            lambda: worker.worker_id,
            watchdog.hurry,
            draining=lambda: watchdog.draining,
            queues=queues,
        )
        heartbeat.start()
        reaping = group.create_task(reaper.run_forever(), name="reaper")
        delivering = group.create_task(Deliverer().run(), name="webhooks")
        pushing = group.create_task(Pusher().run(), name="push")
        scheduling = group.create_task(Scheduler().run(), name="schedules")
        watching = group.create_task(metrics.watch_loop(), name="loop-lag")
        comparing = group.create_task(ClockWatch().run(), name="clock")
        try:
            await worker.run()  # type: ignore[no-untyped-call]
        finally:
            watchdog.leave_within(QUICK_GRACE)
            heartbeat.stop()
            reaping.cancel()
            delivering.cancel()
            pushing.cancel()
            scheduling.cancel()
            watching.cancel()
            comparing.cancel()
            await inboxes().stop()
            await hub().close()  # Parents read their children through it.
            writer.close()


def _worker(
    app: App, writer: JournalWriter, queues: Sequence[str], watchdog: Watchdog
) -> PatientWorker:
    def leaving() -> bool:
        return watchdog.draining

    logging.getLogger("procrastinate").addFilter(_is_news)
    for name, _ in app.periodic_registry.periodic_tasks:
        tasks.failures_of(name)
    return PatientWorker(
        app,
        registered=watchdog.registered,
        queues=[jobs.queue_of(name) for name in queues],
        concurrency=settings.AGUI_WORKER_CONCURRENCY,
        fetch_job_polling_interval=0.5,
        abort_job_polling_interval=1.0,
        shutdown_graceful_timeout=0,  # The runs have had their time in PatientWorker's drain.
        delete_jobs=DeleteJobCondition.ALWAYS.value,
        additional_context={tasks.WRITER: writer, tasks.LEAVING: leaving},
        install_signal_handlers=False,
        # The reaper prunes. At its start a worker cannot tell a dead one from an outage's victims.
        stalled_worker_timeout=A_DAY,
        # The threads of periodic tasks would each keep a connection, even a dead one.
        task_middleware=[close_db_connections, tasks.count_failures],
    )


def _is_news(record: logging.LogRecord) -> bool:
    # Leave out two harmless messages: a reaped job finished late, and a clean abort.
    return "Job was not found or not in" not in record.getMessage()
