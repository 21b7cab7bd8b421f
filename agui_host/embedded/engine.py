"""One embedded server as a foreground child of this process: its lock, its start and its end.

Also its restart when it dies in between. The wheels' own supervisors are not used: they leave
orphans after ``kill -9``, trust a stale pid file, and change the modes of parent directories.
"""

import abc
import contextlib
import fcntl
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from agui_host.embedded import child, paths
from agui_host.embedded.paths import EngineFailed

START = 300.0  # a crashed PostgreSQL can have much to replay
LOG_LIMIT = 5_000_000
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0  # between two tries to start an engine that died
REPEAT = 60.0  # seconds until the log repeats why an engine does not start
NOTE = 32  # bytes of a lock file
Steps = tuple[tuple[signal.Signals, float], ...]


class EngineBusy(EngineFailed):
    """Another process runs the embedded engines of this data directory."""


@dataclass
class Outage:
    """The time from an engine's death until it answers again."""

    due: float = 0.0  # time of the next try
    pause: float = FIRST_PAUSE
    told_at: float = float("-inf")

    def postpone(self, news: str) -> str | None:
        """Plan the next try; returns ``news`` unless the log has had some lately."""
        now = time.monotonic()
        self.due, self.pause = now + self.pause, min(self.pause * 2, LONGEST_PAUSE)
        if now - self.told_at < REPEAT:
            return None
        self.told_at = now
        return news


class Engine(abc.ABC):
    """One embedded server. The process with the lock ``<data>/<name>.lock`` runs it, or will."""

    name: str
    death: signal.Signals
    steps: Steps

    def __init__(self, data: Path) -> None:
        self.data = data
        self.sockets = paths.socket_dir(data)
        self.process: subprocess.Popen[bytes] | None = None
        self._lock: IO[bytes] | None = None
        self._folder: IO[bytes] | None = None
        self._outage: Outage | None = None

    @abc.abstractmethod
    def answers(self) -> bool:
        """Whether a server accepts requests on the socket now."""

    @abc.abstractmethod
    def _prepare(self) -> None:
        """Prepare everything that the server needs, once per claim."""

    @abc.abstractmethod
    def _predecessor(self) -> int | None:
        """The pid of a server that an earlier holder of the lock left behind."""

    def _passing(self) -> bool:
        """Whether the last start failed for a reason that goes away by itself."""
        return False

    @abc.abstractmethod
    def _launch(self) -> subprocess.Popen[bytes]:
        """Start the server process."""

    def claim(self) -> bool:
        """Take the lock; False if another process has it."""
        paths.make(self.data)
        lock = paths.open_private(self.data / f"{self.name}.lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        self._lock = lock
        self._folder = paths.open_private(self.data / "sockets.lock")
        fcntl.flock(self._folder, fcntl.LOCK_SH)  # Held alone only while the folder is removed.
        self._note(f"{os.getpid()} starting")
        return True

    @property
    def claimed(self) -> bool:
        """Whether this process holds the lock of the engine's data."""
        return self._lock is not None

    @property
    def started(self) -> bool:
        """Whether the server should be up: it was started and not halted."""
        return self.process is not None or self._outage is not None

    def holder(self) -> str:
        """The pid of the process that has the lock, for messages."""
        return self._noted().partition(" ")[0] or "?"

    def runs_elsewhere(self) -> bool:
        """Whether the lock's holder has the server up, and is not about to stop it."""
        return self._noted().endswith(" ready") and self.answers()

    @property
    def folder(self) -> Path:
        """The directory that the server writes to."""
        return self.data

    def start(self) -> None:
        """Start the server and wait until it answers. Needs the lock."""
        self._prepare()
        self._bury()
        until = time.monotonic() + 10.0
        while not self._try():
            if time.monotonic() > until or not self._passing():
                self.halt()
                raise EngineFailed(f"{self.name} did not start; its log ends:\n{self._log_end()}")
            time.sleep(0.5)
        self._note(f"{os.getpid()} ready")

    def _try(self) -> bool:
        process = self.process = self._launch()
        child.wait_until(lambda: process.poll() is not None or self.answers(), START)
        if process.poll() is not None:
            self.process = None
            return False
        return self.answers()

    def revive(self) -> str | None:
        """Restart a server that died, without waiting for it; returns news for the log, if any.

        It is tried again until it answers: a full disk can get room.
        """
        if self.process is not None and self.process.poll() is None:
            return self._recovered() if self._outage and self.answers() else None
        outage = self._outage = self._outage or Outage()
        if self.process is not None:  # it has just died
            self.process = None
            return outage.postpone(f"{self.name} stopped: {self._reason()}")
        if time.monotonic() < outage.due:
            return None
        try:
            self._prepare()
            self._bury()
            self.process = self._launch()
        except (EngineFailed, OSError) as error:
            return outage.postpone(f"{self.name} could not be started: {error}")
        return None

    def _recovered(self) -> str:
        self._outage = None
        self._note(f"{os.getpid()} ready")
        return f"{self.name} had stopped; started it again"

    def _reason(self) -> str:
        if paths.disk_is_full(self.folder):
            # Its log is also on that disk, and can be incomplete.
            return (
                f"the disk of {self.folder} is full. Free at least {paths.ROOM >> 20} MiB there; "
                "it will then be started automatically"
            )
        return f"trying again. Its log ends:\n{self._log_end()}"

    def halt(self) -> None:
        """Stop the server, keep the lock."""
        self._note(f"{os.getpid()} stopped")
        self._outage = None
        if self.process is not None:
            child.stop(self.process, *self.steps)
            self.process = None

    def stop(self) -> None:
        """Stop the server and release the lock."""
        self.halt()
        if self._folder is not None:
            self._leave_folder(self._folder)
            self._folder = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _leave_folder(self, lock: IO[bytes]) -> None:
        # Together with the last of the engines that use it.
        with lock, contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            paths.drop_socket_dir(self.data)

    def _bury(self) -> None:
        # Its holder is dead and we have the lock: it is about to exit (death signal) or orphaned.
        pid = self._predecessor()
        if pid is None:
            return
        for number, seconds in self.steps:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            if child.wait_until(lambda: not child.alive(pid), seconds):
                return
        raise EngineFailed(f"The {self.name} of an earlier start (pid {pid}) does not stop.")

    def _note(self, text: str) -> None:
        # Overwrite with the same length: that needs no room on a full disk.
        if self._lock is not None:
            with contextlib.suppress(OSError):
                os.pwrite(self._lock.fileno(), text.ljust(NOTE).encode(), 0)

    def _noted(self) -> str:
        with contextlib.suppress(OSError):
            return (self.data / f"{self.name}.lock").read_text().rstrip()
        return ""

    def _log(self) -> IO[bytes]:
        log = paths.open_private(self.data / f"{self.name}.log", os.O_APPEND)
        if os.fstat(log.fileno()).st_size > LOG_LIMIT:
            log.truncate(0)
        return log

    def _log_end(self) -> str:
        with contextlib.suppress(OSError):
            lines = (self.data / f"{self.name}.log").read_text(errors="replace").splitlines()
            return "\n".join(lines[-12:])
        return "(no log)"
