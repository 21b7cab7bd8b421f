"""The supervisor of a deployment: without Django; its worker's death ends that one's runs."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agui_host.embedded import child
from tests.acceptance.host import ROOT, Host, child_pids, wait_for
from tests.needs import need_root

MOST_MEGABYTES = 40
WITHIN = 8.0
"""Two seconds, on a machine that is four times slower. There the next worker starts later than
this, so the web process has ended the run."""
LOADED = """
import sys
import agui_host.embedded.deployed
print(*sorted(name for name in sys.modules if name.split(".")[0] in ("django", "psycopg", "redis")))
"""
FOREVER: list[Mapping[str, Any]] = [{"text": "tick ", "n": 1_000_000, "rate": 20}]


def resident(pid: int) -> float:
    """Megabytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)[0]) / 1024


def worker_of(supervisor: int) -> int:
    """The process of its worker, or 0."""
    for pid in map(int, child_pids(supervisor)):
        if child.runs(pid, "run_worker"):
            return pid
    return 0


@contextmanager
def supervising(host: Host, folder: Path) -> Iterator[int]:
    """``supervise worker`` in place of the host's own worker; the process id."""
    host.worker.stop()
    command = [sys.executable, "manage.py", "supervise", "worker"]
    with (folder / "log").open("wb") as log:
        process = child.spawn(command, death=signal.SIGTERM, env=host.env, cwd=ROOT, log=log)
    try:
        wait_for(lambda: host.ready().get("workers") == 1, "its worker")
        yield process.pid
    finally:
        child.stop(process, (signal.SIGTERM, 20.0), (signal.SIGKILL, 5.0))


def test_it_imports_no_django() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True,
        timeout=60,
    )  # fmt: skip
    assert done.stdout.strip() == ""


def test_supervise_becomes_small_and_ends_what_a_dead_worker_has_left(
    tough_host: Host, tmp_path: Path
) -> None:
    host = tough_host
    with supervising(host, tmp_path) as supervisor:
        wait_for(lambda: child.runs(supervisor, "agui_host.embedded.deployed"), "it to be small")
        assert resident(supervisor) <= MOST_MEGABYTES
        run = host.begin(script=FOREVER)["id"]
        host.wait_status(run, "running")
        first, began = worker_of(supervisor), time.monotonic()
        os.kill(first, signal.SIGKILL)
        host.wait_status(run, "failed")
        assert time.monotonic() - began < WITHIN
        assert host.run(run)["error"]["code"] == "worker_lost"
        wait_for(lambda: worker_of(supervisor) not in (0, first), "another worker")
        again = host.begin(script=[{"text": "hello", "n": 1}])["id"]
        host.wait_status(again, "succeeded")
        assert resident(supervisor) <= MOST_MEGABYTES
    assert "ended the registration of the dead worker" in (tmp_path / "log").read_text()


def test_only_root_reads_its_environment(tough_host: Host, tmp_path: Path) -> None:
    """It has the database's password, and agents run under its account."""
    need_root()
    with supervising(tough_host, tmp_path) as supervisor:
        wait_for(lambda: child.runs(supervisor, "agui_host.embedded.deployed"), "it to be small")
        command = ["setpriv", "--bounding-set", "-all", "cat", f"/proc/{supervisor}/environ"]
        done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    assert b"Permission denied" in done.stderr
