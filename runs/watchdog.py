"""The worker's own thread: it beats for the worker, and watches the loop that agents share.

Procrastinate's heartbeat runs on the agents' event loop, so one agent that blocks it would get
all its neighbours reaped. This thread beats instead. It also names an agent that blocks the
loop, and gives up on a loop that does not come back: then the process ends, its supervisor
starts another, and the reaper ends its runs.
"""

import asyncio
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

log = structlog.get_logger(__name__)
EXIT_BLOCKED = 76
BEAT = "update procrastinate_workers set last_heartbeat = now() where id = %s"


class Watchdog(threading.Thread):
    """Beats every ``AGUI_HEARTBEAT`` seconds for the worker that ``worker_id`` names."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        worker_id: Callable[[], int | None],
        give_up: Callable[[], object],
    ) -> None:
        """``give_up`` is called on the loop when the worker must stop: it lost its runs."""
        super().__init__(name="watchdog", daemon=True)
        self._loop = loop
        self._give_up = give_up
        self._loop_thread = threading.get_ident()
        self._worker_id = worker_id
        self._ended = threading.Event()
        self._alive_at = time.monotonic()
        self._named = False
        self._pruned = False

    def run(self) -> None:
        beat_at = 0.0
        while not self._ended.wait(min(1.0, settings.AGUI_HEARTBEAT)):
            self.look_once()
            if time.monotonic() >= beat_at:
                beat_at = time.monotonic() + settings.AGUI_HEARTBEAT
                self.beat_once()
        connection.close()

    def stop(self) -> None:
        """End the thread; the caller need not wait for it."""
        self._ended.set()

    def beat_once(self) -> None:
        """Renew the worker's heartbeat. Pruned means that our runs were given up: stop.

        That happens to a worker that was frozen (SIGSTOP, a stalled machine) and woke up. The
        fence keeps its late events out and tells its executors LostLease; this keeps it from
        taking new jobs.
        """
        worker_id = self._worker_id()
        if worker_id is None or self._pruned:
            return
        try:
            with connection.cursor() as cursor:
                cursor.execute(BEAT, [worker_id])
                self._pruned = cursor.rowcount == 0 and self._worker_id() == worker_id
            if self._pruned:
                log.critical("worker.pruned", worker=worker_id)
                self._loop.call_soon_threadsafe(self._give_up)
        except (DatabaseError, InterfaceError) as error:
            log.warning("worker.no_heartbeat", error=str(error))
            connection.close()

    def look_once(self) -> None:
        """Ask the loop for a sign of life; name what blocks it."""
        silent = time.monotonic() - self._alive_at
        if silent > settings.AGUI_LOOP_BLOCK_LIMIT:
            self._exit(EXIT_BLOCKED, "worker.loop_blocked_for_good", **self._blocker())
        elif silent > settings.AGUI_LOOP_BLOCK_WARN and not self._named:
            self._named = True
            log.error("worker.loop_blocked", seconds=round(silent, 1), **self._blocker())
        self._loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        self._alive_at = time.monotonic()
        self._named = False

    def _blocker(self) -> dict[str, str]:
        task = asyncio.current_task(self._loop)
        frame = sys._current_frames().get(self._loop_thread)
        return {
            "task": task.get_name() if task else "",
            "stack": "".join(traceback.format_stack(frame)[-4:]),
        }

    def _exit(self, code: int, event: str, **details: str) -> None:
        log.critical(event, **details)
        sys.stderr.flush()
        os._exit(code)
