"""Keeps the web and worker processes of one machine running: `manage.py up`.

One loop in the main thread looks five times a second: a child that died is started again, a dead
engine too, a change of code restarts the children, and a signal ends everything. The worker goes
first (it still has last events to write), then the web process (it still shows them), and the
engines last, by whoever started them.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from agui_project import child

ROOT = Path(__file__).resolve().parent.parent
TICK = 0.2
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 4.0
STEADY = 30.0
WEB_GRACE = 2

Say = Callable[[str], None]


@dataclass
class Job:
    """A command that should run all the time."""

    name: str
    command: Sequence[str]
    death: signal.Signals
    grace: float  # seconds between SIGTERM and SIGKILL
    process: subprocess.Popen[bytes] | None = None
    since: float = 0.0
    due: float = 0.0
    pause: float = field(default=FIRST_PAUSE)

    def start(self, env: Mapping[str, str]) -> None:
        self.since = time.monotonic()
        self.process = child.spawn(self.command, death=self.death, env=env, cwd=ROOT)

    def stop(self) -> None:
        """End the process and what it started, politely first."""
        if self.process is not None:
            child.stop(self.process, (signal.SIGTERM, self.grace), (signal.SIGKILL, 5.0))
            self._sweep()
            self.process = None

    def kill(self) -> None:
        """End it now; ``stop`` collects the rest."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()

    def lost(self) -> str | None:
        """How the process ended by itself, once; plans the next start."""
        if self.process is None or (code := self.process.poll()) is None:
            return None
        self._sweep()
        self.process = None
        now = time.monotonic()
        self.pause = FIRST_PAUSE if now - self.since > STEADY else self.pause
        self.due, self.pause = now + self.pause, min(self.pause * 2, LONGEST_PAUSE)
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def _sweep(self) -> None:
        # The process led a session of its own, so its group is whatever it left behind.
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                return


def web(port: int) -> Job:
    """Granian on 127.0.0.1.

    It does not tell open streams that it stops: after WEB_GRACE seconds it cuts them, and their
    readers come back with their cursor. Streams count as requests, hence the back-pressure.
    """
    options = {
        "--interface": "asgi",
        "--loop": "uvloop",
        "--host": "127.0.0.1",
        "--port": str(port),
        "--workers-kill-timeout": str(WEB_GRACE),
        "--backpressure": "16384",
        "--log-level": "warning",
    }
    flags = [part for option in options.items() for part in option]
    target = ["--ws", "--factory", "agui_project.web:application"]
    command = [sys.executable, "-m", "granian", *flags, *target]
    # It holds no state: dying at once frees the port for the next start.
    return Job("web", command, signal.SIGKILL, WEB_GRACE + 5.0)


def worker(grace: float) -> Job:
    """The process that executes runs; ``grace`` is what it gives them at shutdown, in seconds."""
    command = [sys.executable, "-m", "agui_project", "run_worker"]
    return Job("worker", command, signal.SIGTERM, grace + 10.0)


def environment(**extra: str) -> dict[str, str]:
    """Ours, with paths that stay right when the children start in another directory."""
    env = os.environ | extra
    paths = [os.path.abspath(path) for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
    return env | ({"PYTHONPATH": os.pathsep.join(paths)} if paths else {})


class Supervisor:
    """Runs jobs until a signal. ``jobs`` are stopped in their order."""

    def __init__(
        self,
        jobs: Sequence[Job],
        say: Say,
        *,
        env: Mapping[str, str] | None = None,
        revive: Callable[[], list[str]] = list,
        changed: Callable[[], str | None] = lambda: None,
    ) -> None:
        """``revive`` restarts dead engines and names them; ``changed`` names changed code."""
        self.jobs = jobs
        self.say = say
        self.env = dict(os.environ if env is None else env)
        self.revive = revive
        self.changed = changed
        self.ending = threading.Event()

    def listen(self) -> None:
        """Take over the signals that end a program. A second one ends it without waiting."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def start(self) -> None:
        for job in self.jobs:
            job.start(self.env)

    def run(self) -> None:
        """Look after the jobs until a signal comes. Call ``start`` before, ``stop`` after."""
        while not self.ending.wait(TICK):
            self.run_once()

    def run_once(self) -> None:
        """One look at everything."""
        for name in self.revive():
            self.say(f"{name} had stopped; started it again")
        if file := self.changed():
            self.say(f"{file} changed; starting again")
            self._restart()
        for job in self.jobs:
            if (how := job.lost()) is not None:
                self.say(f"{job.name} ended ({how}); starting it again")
            if job.process is None and time.monotonic() >= job.due:
                job.start(self.env)

    def stop(self) -> None:
        """Stop the jobs, one after the other."""
        for job in self.jobs:
            job.stop()

    def _restart(self) -> None:
        self.stop()
        if not self.ending.is_set():
            self.start()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.ending.is_set():
            for job in self.jobs:
                job.kill()
        self.ending.set()
