"""The worker's own threads: a watchdog over the event loop that agents share, and its heartbeat.

Procrastinate's heartbeat runs on that loop, so one agent that blocks it would get all its
neighbours reaped: ``Heartbeat`` beats instead. ``Watchdog`` depends on nothing outside this
process. It signals the supervisor that the process is alive, names an agent that blocks the loop,
and ends the process if the loop does not come back or a stop takes too long; a supervisor starts
another one, and the reaper ends the runs.

A thread needs the GIL. So the watchdog also keeps rewinding a timer of the C runtime: if it cannot,
because an agent holds the GIL, the timer writes all stacks and ends the process, even if no
supervisor is left to do so.
"""

import asyncio
import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from agui_host.backends.postgres.base import own_connection
from agui_host.embedded.liveness import (
    EVERY,
    QUICK_GRACE,
    pulse_of,
    time_to_leave,
)
from runs.worker.patience import BEAT_DEADLINE
from runs.worker.taking import registration

log = structlog.get_logger(__name__)
EXIT_BLOCKED = 76
EXIT_LATE = 77
ECHO = 2.0  # seconds in which two signals count as one: to the whole group, and by the supervisor
TIMERS = 2.0  # the timer waits this many AGUI_LIVENESS_SECONDS, so that a supervisor acts first


class Watchdog(threading.Thread):
    """Checks this process once a second, until it ends."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pulse: int | None = None) -> None:
        """``pulse`` is the pipe to the supervisor, if there is one."""
        super().__init__(name="watchdog", daemon=True)
        self.on_stop: Callable[[], object] = lambda: None
        self.on_hurry: Callable[[], object] = lambda: None
        self.draining = False
        self._registration: int | None = None
        self._loop = loop
        self._pulse = pulse
        self._loop_thread = threading.get_ident()
        self._alive_at = time.monotonic()
        self._leave_at = float("inf")
        self._named = False
        self._signalled_at: float | None = None

    def run(self) -> None:
        """Look every ``EVERY`` seconds, for as long as the process lives."""
        while True:
            self._wind()
            self._beat()
            self.look_once()
            time.sleep(EVERY)

    def registered(self, worker_id: int) -> None:
        """Tell the supervisor at once: a run can end this process before the next pulse."""
        self._registration = worker_id
        self._beat()

    def on_signal(self, number: int) -> None:
        """SIGTERM lets the runs finish; a second one, or Ctrl-C, gives them ``QUICK_GRACE``."""
        now = time.monotonic()
        first, self._signalled_at = self._signalled_at, self._signalled_at or now
        if number == signal.SIGINT or (first is not None and now - first > ECHO):
            self.hurry()
        else:
            self.stop_worker()

    def stop_worker(self) -> None:
        """Make the worker take no more runs and leave once its runs are over; idempotent."""
        self._stop(settings.AGUI_WORKER_GRACE, self.on_stop)

    def hurry(self) -> None:
        """Make the worker end its runs soon, also while it drains."""
        self._stop(min(QUICK_GRACE, settings.AGUI_WORKER_GRACE), self.on_hurry)

    def leave_within(self, grace: float) -> None:
        """End the process ``time_to_leave`` after the first call, whatever hangs."""
        deadline = time.monotonic() + time_to_leave(grace, settings.AGUI_CANCEL_GRACE)
        self._leave_at = min(self._leave_at, deadline)

    def _stop(self, grace: float, tell_worker: Callable[[], object]) -> None:
        self.draining = True
        self.leave_within(grace)
        with suppress(RuntimeError):  # the loop is closed: nothing is left to stop
            self._loop.call_soon_threadsafe(tell_worker)

    def look_once(self) -> None:
        """Ask the loop for a sign of life; name the agent that blocks it."""
        now = time.monotonic()
        silent = now - self._alive_at
        if now > self._leave_at:
            self._exit(EXIT_LATE, "worker.left_late", **self._blocker())
        if silent > settings.AGUI_LOOP_BLOCK_LIMIT:
            self._exit(EXIT_BLOCKED, "worker.loop_blocked_for_good", **self._blocker())
        elif silent > settings.AGUI_LOOP_BLOCK_WARN and not self._named:
            self._named = True
            log.error("worker.loop_blocked", seconds=round(silent, 1), **self._blocker())
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._answer)

    def _wind(self) -> None:
        if settings.AGUI_LIVENESS_SECONDS > 0:
            faulthandler.dump_traceback_later(TIMERS * settings.AGUI_LIVENESS_SECONDS, exit=True)

    def _beat(self) -> None:
        if self._pulse is None:
            return
        try:
            os.write(self._pulse, pulse_of(self._registration))
        except BlockingIOError:  # The supervisor hangs; it has enough pulses in the pipe.
            return
        except BrokenPipeError:
            log.critical("worker.supervisor_died")
            self._pulse = None
            self.stop_worker()

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
        with suppress(OSError):
            log.critical(event, **details)
            sys.stderr.flush()
        os._exit(code)


def _now() -> float:
    # The usual clock stands still while the machine sleeps.
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Heartbeat(threading.Thread):
    """Beats every ``AGUI_HEARTBEAT`` seconds for the worker that ``worker_id`` names."""

    def __init__(
        self,
        worker_id: Callable[[], int | None],
        give_up: Callable[[], object],
        chores: Callable[[], int | None] = lambda: None,
        free: Callable[[], int] = lambda: 0,
        draining: Callable[[], bool] = lambda: False,
    ) -> None:
        """``give_up`` is called when the worker must stop because it lost its runs.

        ``chores`` is its registration in Procrastinate, ``free`` how many more runs have room. The
        heartbeat of a ``draining`` worker continues, but /ready does not count the worker.
        """
        super().__init__(name="heartbeat", daemon=True)
        self._give_up = give_up
        self._chores, self._free, self._draining = chores, free, draining
        self._worker_id = worker_id
        self._ended = threading.Event()
        self._pruned = False
        self._beaten_at = _now()

    @property
    def lives(self) -> bool:
        """Whether the last heartbeat is so young that nobody has given the worker up."""
        silent = _now() - self._beaten_at
        return not self._pruned and silent < settings.AGUI_WORKER_LOST_AFTER

    def run(self) -> None:
        """Say that this worker lives, on a separate connection, until it ends."""
        # Requests that wait for the database can take the whole pool; no worker must be lost for
        # that.
        own_connection("agui-heartbeat", deadline=BEAT_DEADLINE)
        pause = min(1.0, settings.AGUI_HEARTBEAT)
        while not self._ended.wait(pause):
            pause = settings.AGUI_HEARTBEAT if self._worker_id() else pause
            self.beat_once()
        connection.close()

    def stop(self) -> None:
        """End the thread; the caller need not wait for it."""
        self._ended.set()

    def beat_once(self) -> None:
        """Renew the worker's heartbeat. If it was pruned, our runs were given up: stop.

        That happens to a worker that was frozen (SIGSTOP, a stalled machine) and woke up. The fence
        rejects its late events and its executors get LostLease; this keeps it from taking new jobs.
        """
        worker_id = self._worker_id()
        if worker_id is None or self._pruned:
            return
        began = _now()
        try:
            lives = registration.beat(
                worker_id, self._chores(), self._free(), draining=self._draining()
            )
            self._pruned = not lives and self._worker_id() == worker_id
            self._beaten_at = began if lives else self._beaten_at
            if self._pruned:
                log.critical("worker.pruned", worker=worker_id)
                self._give_up()
        except (DatabaseError, InterfaceError) as error:
            log.warning("worker.no_heartbeat", error=str(error))
            connection.close()
