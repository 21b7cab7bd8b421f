"""Memory of a web process, a worker and their supervisors (``manage.py supervise``), at rest.

Proportional set size: pages that processes share are divided among them. The last lines are the
seconds from a worker's death (SIGKILL) until its run's end, ``ROUNDS`` times, with no other worker.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from agui_host.embedded import child, liveness, paths
from benchmarks.report import keep
from tests.acceptance.host import ROOT, Host, child_pids, free_port, wait_for
from tests.conftest import own_data_dir

ROUNDS = int(os.environ.get("ROUNDS", "2"))
FOREVER: list[Mapping[str, Any]] = [{"text": "tick ", "n": 1_000_000, "rate": 20}]
STOPS = ((signal.SIGINT, 30.0), (signal.SIGKILL, 5.0))


def memory(*pids: int) -> float:
    """Megabytes of these processes, without their children."""
    kilobytes = 0
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            kilobytes += int(re.findall(r"^Pss: +(\d+) kB", rollup, re.MULTILINE)[0])
    return kilobytes / 1024


@contextmanager
def supervised(host: Host, process: str, env: dict[str, str]) -> Iterator[int]:
    """A supervisor whose process works; its process id."""
    port, before = free_port(), host.ready().get("workers", 0)
    command = [sys.executable, "manage.py", "supervise", process, "--port", str(port)]
    with (host.data / "supervised.log").open("ab") as log:
        running = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log)
    try:
        if process == "web":
            wait_for(lambda: liveness.ready(port) == 200, "web")
        else:
            wait_for(lambda: host.ready().get("workers", 0) > before, "a worker")
        yield running.pid
    finally:
        child.stop(running, *STOPS)


def seconds_to_an_end(host: Host, supervisor: int) -> float:
    """From the death of a supervised worker until its run has ended."""
    run = host.begin(script=FOREVER)["id"]
    host.wait_status(run, "running")
    (worker,) = (pid for pid in map(int, child_pids(supervisor)) if child.runs(pid, "run_worker"))
    began = time.monotonic()
    os.kill(worker, signal.SIGKILL)
    host.wait_status(run, "failed")
    seconds = time.monotonic() - began
    wait_for(lambda: host.ready().get("workers", 0) == 1, "the next worker")
    return seconds


def main() -> None:
    figures: dict[str, float] = {}
    with own_data_dir() as data:
        host = Host(data)
        try:
            host.start()
            sockets = paths.socket_dir(data)
            env = host.env | {
                "DATABASE_URL": f"postgres://postgres@/postgres?host={sockets}",
                "REDIS_URL": f"unix://{sockets / 'valkey'}",
            }
            for process in ("web", "worker"):
                with supervised(host, process, env) as pid:
                    figures[f"supervisor of {process}"] = memory(pid)
                    figures[process] = memory(*map(int, child_pids(pid)))
            host.worker.stop()
            wait_for(lambda: not host.ready().get("workers", 0), "no worker")
            with supervised(host, "worker", env) as pid:
                seconds = [seconds_to_an_end(host, pid) for _ in range(ROUNDS)]
        finally:
            host.stop()
    share = sum(value for name, value in figures.items() if name.startswith("supervisor"))
    lines = [f"{name:22}{value:6.0f} MB" for name, value in figures.items()]
    lines.append(f"{'supervisors, of all':22}{100 * share / sum(figures.values()):6.0f} %")
    lines.append(f"{'a death to the end':22}{', '.join(f'{each:.1f}' for each in seconds)} s")
    keep("supervisors", lines)


if __name__ == "__main__":
    main()
