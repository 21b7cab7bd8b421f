"""Seven ways to hurt a running host. Nobody helps it afterwards; each asserts that it struck."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.acceptance.host import wait_for
from tests.acceptance.supervised import Supervised
from tests.needs import missing, need_root

DISK = "400m"
FULL_SECONDS = 8.0
KILL_BACKENDS = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity"
        " where pid <> pg_backend_pid() and backend_type = 'client backend'"
    )
    print(cursor.fetchone()[0])
"""
NEXT_SEGMENTS = """
from django.db import connection
with connection.cursor() as cursor:
    for _ in range(20):
        cursor.execute("create temporary table if not exists t (x int)")
        cursor.execute("select pg_switch_wal(), pg_logical_emit_message(false, 'x', 'x')")
"""


def restart_postgres(host: Supervised) -> None:
    """A fast shutdown, as a package's upgrade does it."""
    _signal(postmaster(host), signal.SIGINT)


def kill_backends(host: Supervised) -> None:
    assert int(host.python(KILL_BACKENDS).split()[-1]) > 3


def fill_the_disk(host: Supervised) -> None:
    """Until PostgreSQL cannot go on; some seconds later there is room again."""
    ballast = host.data / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 65_536)
    with suppress(subprocess.CalledProcessError):  # PostgreSQL breaks off
        host.python(NEXT_SEGMENTS)
    wait_for(lambda: host.ready().get("status") != "ready", "the full disk to be felt")
    time.sleep(FULL_SECONDS)  # the fault itself, not a wait
    ballast.unlink()


def restart_valkey(host: Supervised) -> None:
    _signal(host.pid_of("valkey-server"), signal.SIGTERM)


def kill_worker(host: Supervised) -> None:
    _signal(host.pid_of("run_worker"), signal.SIGKILL)


def kill_web(host: Supervised) -> None:
    pids = [pid for pid, line in host.pids().items() if "granian" in line]
    assert pids
    for pid in pids:
        _signal(pid, signal.SIGKILL)


def hold_the_interpreter(host: Supervised) -> None:
    """An agent in an endless regular expression, in the worker that runs everything."""
    host.wait_status(host.begin("stuck")["id"], "running")


FAULTS: dict[str, Callable[[Supervised], None]] = {
    "PostgreSQL restart": restart_postgres,
    "all backends killed": kill_backends,
    "disk full, then freed": fill_the_disk,
    "Valkey restart": restart_valkey,
    "worker killed": kill_worker,
    "web killed": kill_web,
    "worker in an endless regular expression": hold_the_interpreter,
}


def postmaster(host: Supervised) -> int:
    return int((host.data / "postgres" / "postmaster.pid").read_text().split()[0])


def _signal(pid: int, number: signal.Signals) -> None:
    """The process is there, and is gone afterwards."""
    os.kill(pid, number)
    wait_for(lambda: not _is(pid), f"process {pid} to end")


def _is(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of its own, which can be filled without harm to the machine."""
    need_root()
    folder.mkdir()
    options = f"size={DISK},mode=0711"
    mount = ["mount", "-t", "tmpfs", "-o", options, "agui-small-disk", str(folder)]
    if subprocess.run(mount, check=False).returncode:
        missing("needs the right to mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
