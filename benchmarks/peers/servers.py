"""The servers that are measured: this host, CopilotKit's runtime, a bare ASGI app."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from agui_host.embedded import supervisor
from tests.acceptance.host import ROOT, Host, free_port, wait_for
from tests.conftest import own_data_dir

COPILOTKIT = Path(__file__).parent / "copilotkit"
UNLIMITED = {
    f"AGUI_LIMIT_{name}": "0"
    for name in ("RUNS_PER_MINUTE", "EVENTS_PER_SECOND", "CONCURRENT_RUNS", "OPEN_STREAMS")
}
"""A peer without limits is measured beside a host without limits."""


@dataclass(frozen=True)
class Server:
    """Where a server listens, and the headers that it wants."""

    name: str
    port: int
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The address of its root."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def this_host(**settings: str) -> Iterator[Host]:
    """The whole host, as durable as it is delivered: ``fsync`` and ``synchronous_commit`` on."""
    with own_data_dir() as data:
        host = Host(data, **UNLIMITED, **settings)
        try:
            yield host.start(fsync=True)
        finally:
            host.stop()


def install_copilotkit() -> None:
    """Install the pinned packages, unless they are there already."""
    installed, lock = COPILOTKIT / "node_modules" / ".stamp", COPILOTKIT / "package-lock.json"
    if installed.exists() and installed.stat().st_mtime > lock.stat().st_mtime:
        return
    print("Installing CopilotKit's runtime, once …", flush=True)
    npm = [_program("npm"), "ci", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(npm, cwd=COPILOTKIT, check=True, stdin=subprocess.DEVNULL, timeout=300)
    installed.touch()


@contextmanager
def copilotkit() -> Iterator[Server]:
    """CopilotKit's runtime with its in-memory runner."""
    port = free_port()
    command = [_program("node"), "server.mjs", str(port)]
    env = {**os.environ, "COPILOTKIT_TELEMETRY_DISABLED": "true", "NODE_ENV": "production"}
    with _running(command, port, "/agui/info", cwd=COPILOTKIT, env=env):
        yield Server("CopilotKit", port)


@contextmanager
def bare(body: bytes, folder: Path) -> Iterator[tuple[Server, int]]:
    """The bare app (``bare.py``), served as the host is, and its process; ``/body`` sends this."""
    port, file = free_port(), folder / "body"
    file.write_bytes(body)
    *command, _factory, _app = supervisor.web(port).command
    env = {**os.environ, "BARE_BODY": str(file)}
    with _running([*command, "benchmarks.peers.bare:app"], port, "/health", cwd=ROOT, env=env) as p:
        yield Server("bare app", port), p.pid


@contextmanager
def _running(
    command: list[str], port: int, path: str, *, cwd: Path, env: dict[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.DEVNULL)

    def answers() -> bool:
        assert process.poll() is None, f"{command} ended with {process.returncode}"
        try:
            return httpx.get(f"http://127.0.0.1:{port}{path}").is_success
        except httpx.HTTPError:
            return False

    try:
        wait_for(answers, f"{command[0]} to answer")
        yield process
    finally:
        process.terminate()
        process.wait(10)


def _program(name: str) -> str:
    path = shutil.which(name)
    return path or sys.exit(f"{name} is not in PATH: the benchmark beside CopilotKit needs Node")
