"""Memory of a web process, a worker and their supervisors (``manage.py supervise``), at rest.

Proportional set size: pages that processes share are divided among them. The last line is a
process that imports the supervisor and no Django: the least that a supervisor could take.
"""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from agui_host.embedded import child, liveness, paths
from benchmarks.report import keep
from tests.acceptance.host import ROOT, Host, child_pids, free_port, wait_for
from tests.conftest import own_data_dir

FLOOR = "import sys, agui_host.embedded.supervisor; print(flush=True); sys.stdin.read()"
STOPS = ((signal.SIGINT, 30.0), (signal.SIGKILL, 5.0))


def memory(*pids: int) -> float:
    """Megabytes of these processes, without their children."""
    kilobytes = 0
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            kilobytes += int(re.findall(r"^Pss: +(\d+) kB", rollup, re.MULTILINE)[0])
    return kilobytes / 1024


def supervised(host: Host, process: str, env: dict[str, str]) -> tuple[float, float]:
    """Megabytes of a supervisor, and of its process with all children, once it works."""
    port, before = free_port(), host.ready().get("workers", 0)
    command = [sys.executable, "manage.py", "supervise", process, "--port", str(port)]
    with (host.data / "supervised.log").open("ab") as log:
        running = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log)
    try:
        if process == "web":
            wait_for(lambda: liveness.ready(port) == 200, "web")
        else:
            wait_for(lambda: host.ready().get("workers", 0) > before, "a worker")
        return memory(running.pid), memory(*map(int, child_pids(running.pid)))
    finally:
        child.stop(running, *STOPS)


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
                figures[f"supervisor of {process}"], figures[process] = supervised(
                    host, process, env
                )
        finally:
            host.stop()
    share = sum(value for name, value in figures.items() if name.startswith("supervisor"))
    lines = [f"{name:22}{value:6.0f} MB" for name, value in figures.items()]
    lines.append(f"{'supervisors, of all':22}{100 * share / sum(figures.values()):6.0f} %")
    with subprocess.Popen(
        [sys.executable, "-c", FLOOR], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=os.environ,
    ) as floor:  # fmt: skip
        assert floor.stdout
        floor.stdout.readline()
        lines.append(f"{'without Django':22}{memory(floor.pid):6.0f} MB")
        floor.kill()
    keep("supervisors", lines)


if __name__ == "__main__":
    main()
