"""A whole host as people start it, by ``manage.py up``, and what can be seen of it from outside."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agui_host.embedded import child
from tests.acceptance.host import ROOT, SEED, Host, child_pids, wait_for
from tests.conftest import remove

FAST = {
    "AGUI_LIVENESS_SECONDS": "3",
    "AGUI_WORKER_GRACE": "1",
    "AGUI_CANCEL_GRACE": "1",
    "AGUI_HEARTBEAT": "1",
    "AGUI_WORKER_LOST_AFTER": "4",
    "AGUI_REAP_EVERY": "1",
}


class Supervised(Host):
    """``up`` in a process of its own; its log and those of its children are one file."""

    def __init__(self, data: Path, *, seed: str = "", **settings: str) -> None:
        """``seed`` is code that the first start runs."""
        super().__init__(data, **settings)
        self.log_path = data / "up.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._seed = SEED + seed

    def start(self, *, fsync: bool = False) -> "Supervised":
        """Start ``up`` unless it runs."""
        if self.process is not None and self.process.poll() is None:
            return self
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--port", str(self.port)],
                cwd=ROOT, env=self.env, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.wait_ready()
        if self._seed:
            self.python(self._seed)
            self._seed = ""
        return self

    def wait_ready(self) -> None:
        try:
            wait_for(lambda: self.ready().get("status") == "ready", "up to be ready", 180)
        except AssertionError:
            print(self.log()[-5000:])
            raise

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def logged(self, pattern: str) -> bool:
        """Whether ``up`` itself has logged such a line."""
        return bool(re.search(rf"^up: {pattern}", self.log(), re.MULTILINE))

    def pids(self) -> dict[int, str]:
        """Every process below ``up``, with its command line."""
        assert self.process is not None
        return {int(pid): command_line(int(pid)) for pid in child_pids(self.process.pid)}

    def postmaster(self) -> int:
        return next(pid for pid, line in self.pids().items() if "bin/postgres -D" in line)

    def pid_of(self, words: str) -> int:
        """The process whose command line holds these words; the deepest, where several do."""
        return max(pid for pid, line in self.pids().items() if words in line)


@contextmanager
def small_disk(size: str = "320m") -> Iterator[Path]:
    """A data directory on a disk of its own, gone afterwards. Needs root."""
    folder = Path(tempfile.mkdtemp(prefix="agui-disk-"))
    folder.chmod(0o711)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0711", "tmpfs", str(folder)]
    subprocess.run(mount, check=True)
    try:
        yield folder / "data"
    finally:
        remove(folder / "data")
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


def fill(folder: Path) -> Path:
    """Take all the room that the disk of ``folder`` has; the file to be removed for it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (2**20, 4096):
            with suppress(OSError):
                while file.write(bytes(size)):
                    pass
    assert shutil.disk_usage(folder).free < 4096, "the disk has still room"
    return filler


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def living(pids: dict[int, str]) -> dict[int, str]:
    """Those that are still there, and are still what they were."""
    return {pid: line for pid, line in pids.items() if child.runs(pid, line)}
