"""Starts processes of a host by ``server``, one of which each process that runs tests has."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from agui_host.embedded import child

ROOT = Path(__file__).resolve().parents[3]
SAME = ("PYTHON", "LD_", "MALLOC_", "OPENSSL", "SSL_", "LC_", "LANG", "GRANIAN_", "PROM", "PATH")
"""Beginnings of variables that are read early; in a copy they are the same as in the server."""


class Warm(subprocess.Popen[bytes]):
    """A process that the server is the parent of; it is waited for by its descriptor."""

    def __init__(self, server: "Server", pid: int, command: Sequence[str]) -> None:
        self.args, self.pid, self.returncode = list(command), pid, None
        self.stdin = self.stdout = self.stderr = None
        self._server, self._lock = server, threading.Lock()

    def poll(self) -> int | None:
        with self._lock:
            if self.returncode is None:
                self.returncode = self._server.code_of(self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.poll() is None:
            descriptor = os.pidfd_open(self.pid)
            try:
                ended = select.poll()
                ended.register(descriptor, select.POLLIN)
                if not ended.poll(None if timeout is None else timeout * 1000):
                    raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            finally:
                os.close(descriptor)
        return self.poll()

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)


class Server:
    """The process with the packages; it ends with this one."""

    cpu = 0.0
    """Seconds of processor time of its copies that have ended."""

    def __init__(self) -> None:
        self.env = dict(os.environ)
        self._lock = threading.Lock()
        self._requests, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            command = [sys.executable, "-m", f"{__package__}.server", str(other.fileno())]
            self.process = child.spawn(
                command, death=signal.SIGKILL, env=self.env, cwd=ROOT, fds=(other.fileno(),)
            )

    def spawn(
        self,
        command: Sequence[str],
        *,
        death: signal.Signals,
        env: Mapping[str, str],
        cwd: Path,
        outputs: Sequence[IO[Any]],
    ) -> Warm:
        """As ``child.spawn``, for the command ``python -m MODULE …``."""
        request = {
            "module": command[2], "arguments": list(command[3:]), "env": dict(env),
            "folder": str(cwd), "death": int(death),
        }  # fmt: skip
        return Warm(self, self._ask(request, [each.fileno() for each in outputs])["pid"], command)

    def code_of(self, pid: int) -> int | None:
        """The exit status of a copy that has ended."""
        answer = self._ask({"wait": pid})
        if answer["code"] is not None:
            Server.cpu += answer["cpu"]
        return answer["code"]

    def can(self, command: Sequence[str], env: Mapping[str, str], cwd: Path) -> bool:
        """Whether a copy would be the same as a process of its own."""
        names = {*env, *self.env}
        same = all(env.get(n) == self.env.get(n) for n in names if n.startswith(SAME))
        return same and [*command[:2]] == [sys.executable, "-m"] and cwd == ROOT

    def stop(self) -> None:
        """Let it end, and with it the copies that still run."""
        self._requests.close()
        self.process.wait(10)

    def _ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        with self._lock:
            socket.send_fds(self._requests, [json.dumps(request).encode()], descriptors)
            answer = self._requests.recv(1000)
        assert answer, "the server of copies has ended"
        return json.loads(answer)


class Servers:
    """The one of this process, started when it is needed first."""

    def __init__(self) -> None:
        self.server: Server | None = None
        self.are_wanted = False
        """A benchmark judges processes as users start them."""

    def stop(self) -> None:
        self.are_wanted = False
        if self.server:
            self.server.stop()
            self.server = None

    def for_(self, command: Sequence[str], env: Mapping[str, str], cwd: Path) -> Server | None:
        """The server, if it is wanted and a copy would be the same."""
        is_main = threading.current_thread() is threading.main_thread()
        if self.are_wanted and self.server is None and is_main and hasattr(os, "pidfd_open"):
            self.server = Server()  # a death signal is tied to the thread; Linux has both
        return self.server if self.server and self.server.can(command, env, cwd) else None


servers = Servers()


def install(config: pytest.Config) -> None:
    """Start hosts as copies until the tests end."""
    servers.are_wanted = True
    config.add_cleanup(servers.stop)


def spawn(
    command: Sequence[str],
    *,
    death: signal.Signals,
    env: Mapping[str, str],
    cwd: Path,
    log: IO[bytes],
) -> subprocess.Popen[bytes]:
    """``child.spawn``, by a copy if that would be the same."""
    if server := servers.for_(command, env, cwd):
        return server.spawn(command, death=death, env=env, cwd=cwd, outputs=(log, log))
    return child.spawn(command, death=death, env=env, cwd=cwd, log=log)


def run(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout: float
) -> subprocess.CompletedProcess[str]:
    """``subprocess.run`` with both outputs as text, by a copy if that would be the same."""
    server = servers.for_(command, env, cwd)
    if server is None:
        return subprocess.run(
            command, env=env, cwd=cwd, timeout=timeout, capture_output=True, text=True, check=False
        )
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        death = signal.SIGKILL
        process = server.spawn(command, death=death, env=env, cwd=cwd, outputs=(out, errors))
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
        out.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(command, code, out.read(), errors.read())
