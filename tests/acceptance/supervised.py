"""A whole host as people start it, by ``manage.py up``, and what can be seen of it from outside."""

import re
import subprocess
import sys
from pathlib import Path

from agui_project import child
from tests.acceptance.host import ROOT, SEED, Host, child_pids, wait_for

FAST = {
    "AGUI_LIVENESS_SECONDS": "3",
    "AGUI_WORKER_GRACE": "1",
    "AGUI_HEARTBEAT": "1",
    "AGUI_WORKER_LOST_AFTER": "4",
    "AGUI_REAP_EVERY": "1",
}


class Supervised(Host):
    """``up`` in a process of its own; its log and those of its children are one file."""

    def __init__(self, data: Path, *, seed: str = "", **settings: str) -> None:
        """``seed`` is code that the first start runs."""
        super().__init__(data, **settings)
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

    @property
    def log_path(self) -> Path:
        return self.data / "up.log"

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def said(self, pattern: str) -> bool:
        """Whether ``up`` itself has logged such a line."""
        return bool(re.search(rf"^up: {pattern}", self.log(), re.MULTILINE))

    def pids(self) -> dict[int, str]:
        """Every process below ``up``, with its command line."""
        assert self.process is not None
        return {int(pid): command_line(int(pid)) for pid in child_pids(self.process.pid)}

    def pid_of(self, words: str) -> int:
        """The process whose command line holds these words; the deepest, where several do."""
        return max(pid for pid, line in self.pids().items() if words in line)


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def living(pids: dict[int, str]) -> dict[int, str]:
    """Those that are still there, and are still what they were."""
    return {pid: line for pid, line in pids.items() if child.runs(pid, line)}
