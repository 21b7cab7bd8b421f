"""The worker process: its runs, the chores, the JournalWriter, the reaper and the watchdog."""

import asyncio
import logging
import signal
from collections.abc import Sequence

from django.conf import settings

from agui_host.backends import interpreter, metrics
from agui_host.backends.postgres.clock_watch import ClockWatch
from agui_host.embedded.liveness import QUICK_GRACE
from agui_host.runtimes.models import DEFAULT_QUEUE
from events.hub import hub
from events.writer import JournalWriter
from runs.lifecycle import admission
from runs.worker import reaper
from runs.worker.agent.inboxes import inboxes
from runs.worker.chores import Chores
from runs.worker.deliveries import Deliverer
from runs.worker.notices.pushing import Pusher
from runs.worker.scheduler import Scheduler
from runs.worker.taking.loop import Runs
from runs.worker.watchdog import Heartbeat, Watchdog


async def work(watchdog: Watchdog, queues: Sequence[str]) -> None:
    """Execute the runs of these queues until ``watchdog.stop_worker``; let them finish; return.

    Writer and worker share a TaskGroup: the death of either ends the process. The writer outlives
    the worker at shutdown, since the runs' last events pass through it.
    """
    interpreter.settle()
    metrics.slots.set(settings.AGUI_WORKER_CONCURRENCY)
    address = settings.AGUI_METRICS_ADDRESS
    scraped_at = metrics.serve(address) if address else ""
    writer = JournalWriter(admission.FOLLOW_UP)
    logging.getLogger("procrastinate").addFilter(_is_news)

    def leaving() -> bool:
        return watchdog.draining

    async with asyncio.TaskGroup() as group:
        writing = group.create_task(writer.run(), name="journal-writer")
        # Without the writer no run can end well, so there is no point in a long grace period.
        writing.add_done_callback(lambda _: watchdog.hurry())
        runs = Runs(
            writer, queues, registered=watchdog.registered, leaving=leaving,
            lives=lambda: heartbeat.lives, scraped_at=scraped_at,
        )  # fmt: skip
        chores = Chores(leaving)

        def stop() -> None:
            runs.stop()
            chores.stop()

        def hurry() -> None:
            runs.hurry()
            chores.stop()

        watchdog.on_stop, watchdog.on_hurry = stop, hurry
        # Not the loop's handlers: a loop that an agent blocks does not call them.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda received, _: watchdog.on_signal(received))
        heartbeat = Heartbeat(
            lambda: runs.id,
            watchdog.hurry,
            chores=lambda: chores.worker_id,
            free=lambda: runs.free,
            draining=leaving,
        )
        heartbeat.start()
        reaping = group.create_task(reaper.run_forever(), name="reaper")
        delivering = group.create_task(Deliverer().run(), name="webhooks")
        pushing = group.create_task(Pusher().run(), name="push")
        scheduling = group.create_task(Scheduler().run(), name="schedules")
        watching = group.create_task(metrics.watch_loop(), name="loop-lag")
        comparing = group.create_task(ClockWatch().run(), name="clock")
        # The queue of the host's own tasks is served by the workers of the default queue.
        tidying = group.create_task(
            chores.run() if DEFAULT_QUEUE in queues else asyncio.sleep(0), name="chores"
        )
        try:
            await runs.run()
            chores.stop()
            await asyncio.wait({tidying}, timeout=runs.seconds_left)
        finally:
            tidying.cancel()
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


def _is_news(record: logging.LogRecord) -> bool:
    # A chore that the reaper has ended already is harmless.
    return "Job was not found or not in" not in record.getMessage()
