"""Keeps the web and worker processes of one machine running: `manage.py up` and `supervise`.

One loop in the main thread checks five times a second and never blocks: a child that died, or
that gives no sign of life (``liveness.py``), is started again, a dead engine too, a change of code
restarts the children, and a signal ends everything. The worker goes first (it still has last events
to write), then the web process (it still sends them), and the engines last, by the process that
started them.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from agui_host.embedded import child
from agui_host.embedded.liveness import QUICK_GRACE, Health, Pulse, Sign, time_to_leave

ROOT = Path(__file__).resolve().parents[2]
TICK = 0.2
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 4.0
STEADY = 30.0
WEB_GRACE = 2
HEADER_BYTES = 32 * 1024  # the buffer in which a request's headers must fit
HEADER_VARIABLE = "GRANIAN_HTTP1_HEADER_READ_TIMEOUT"  # granian's own: the operator decides
HEADER_MILLISECONDS = 60_000  # in which they must arrive; as long, proxies keep idle connections
CONNECTIONS_VARIABLE = "GRANIAN_BACKPRESSURE"  # granian's own, too
CONNECTIONS = 16_384  # so many are taken; others wait until one of them ends
START_UP = 60.0  # seconds for a process's first sign of life
LONGEST_LOOK = 1.0  # seconds of silence that count between two checks
LONGEST_STOP = 1.0  # seconds for which a signal can stop a worker; a stopped one does nothing

Say = Callable[[str], None]


@dataclass
class Job:
    """A command that should run all the time."""

    name: str
    command: Sequence[str]
    death: signal.Signals
    grace: float  # seconds between SIGTERM and SIGKILL
    signs: Callable[[], Sign] | None = None
    process: subprocess.Popen[bytes] | None = None
    sign: Sign | None = None
    silence: float = 0.0  # seconds since the last sign of life
    lives: bool = False  # whether it ever gave one
    stood: float = 0.0  # seconds for which a signal has stopped it
    died: int | None = None  # the registration that a process which died has left
    since: float = 0.0
    due: float = 0.0
    pause: float = field(default=FIRST_PAUSE)
    verdict: str = ""
    drains: bool = False  # lets its work finish at SIGTERM; hurries at SIGINT or a second SIGTERM

    def start(self, env: Mapping[str, str]) -> None:
        """Start the process, with a new sign of life."""
        self.since = time.monotonic()
        self.silence, self.stood = -START_UP, 0.0
        sign = self.sign = self.signs() if self.signs else None
        command, fds = [*self.command, *(sign.flags if sign else ())], sign.fds if sign else ()
        try:
            self.process = child.spawn(command, death=self.death, env=env, cwd=ROOT, fds=fds)
        finally:
            if sign:
                sign.begin()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End the process and its children, politely first."""
        if self.process is not None:
            number = number if self.drains else signal.SIGTERM
            child.stop(self.process, (number, self.grace), (signal.SIGKILL, 5.0))
            self._forget()

    def hurry(self) -> bool:
        """Tell a process that lets its work finish to wait no longer; whether it can."""
        if self.drains and self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            return True
        return False

    def kill(self) -> None:
        """End it now; ``stop`` collects the rest."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()

    def listen(self, elapsed: float) -> float:
        """Seconds without a sign of life, ``elapsed`` after the last call.

        They are counted in our own checks: if the whole machine stood still, so did we, and nothing
        is killed for it.
        """
        if self.process is None or self.sign is None:
            self.silence = 0.0
        elif self.sign.beat():
            self.silence, self.lives = 0.0, True
        else:
            self.silence += min(elapsed, LONGEST_LOOK)
        return self.silence

    def stands(self, elapsed: float) -> float:
        """Seconds for which a signal has stopped a process that gives pulses, as ``listen``.

        No other silence is as sure: a slow process is not stopped.
        """
        is_watched = self.process is not None and self.sign is not None and self.sign.registration
        if self.process is not None and is_watched and child.stands(self.process.pid):
            self.stood += min(elapsed, LONGEST_LOOK)
        else:
            self.stood = 0.0
        return self.stood

    def end_hung(self) -> None:
        """Kill a process that gives no sign of life, and its children; ``lost`` reports it."""
        if self.process is None or self.sign is None:
            return
        silence = max(self.silence, self.stood)
        self.verdict = f"{self.sign.description} for {silence:.0f} s and was killed"
        writes = self.sign.writes_stacks and not self.stood
        stacks = [(signal.SIGQUIT, 0.5)] if writes else []
        child.stop(self.process, *stacks, (signal.SIGKILL, 2.0))
        self._sweep()

    def lost(self) -> str | None:
        """How the process ended by itself, once; plans the next start."""
        if self.process is None or (code := self.process.poll()) is None:
            return None
        self._forget()
        self._plan()
        verdict, self.verdict = self.verdict, ""
        return verdict or f"ended ({f'signal {-code}' if code < 0 else f'exit code {code}'})"

    def try_again(self, env: Mapping[str, str]) -> str | None:
        """Start it if that is due; returns what kept it from starting."""
        if self.process is not None or time.monotonic() < self.due:
            return None
        try:
            self.start(env)
        except OSError as error:  # no memory, no process ids, no file descriptors
            self._forget()
            self._plan()
            return f"could not be started ({error.strerror})"
        return None

    def _plan(self) -> None:
        now = time.monotonic()
        self.pause = FIRST_PAUSE if now - self.since > STEADY else self.pause
        self.due, self.pause = now + self.pause, min(self.pause * 2, LONGEST_PAUSE)

    def _forget(self) -> None:
        self._sweep()
        if self.sign is not None:
            self.sign.beat()  # It might have registered just before its end.
            if self.process is not None and self.process.poll():
                self.died = self.sign.registration
            self.sign.end()
        self.process = self.sign = None

    def _sweep(self) -> None:
        # The process led its own session, so its group is whatever it left behind.
        if self.process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)


def web(port: int, host: str = "127.0.0.1") -> Job:
    """Granian.

    It does not tell open streams that it stops: after WEB_GRACE seconds it cuts them, and their
    readers come back with their cursor.
    """
    options = {
        "--interface": "asgi",
        "--loop": "uvloop",
        "--host": host,
        "--port": str(port),
        # With HTTP/2, 120 KB of HPACK are 15 MB of headers, decoded before the app is asked.
        "--http": "1",
        "--http1-buffer-size": str(HEADER_BYTES),
        "--http1-header-read-timeout": os.environ.get(HEADER_VARIABLE, str(HEADER_MILLISECONDS)),
        "--workers-kill-timeout": str(WEB_GRACE),
        "--backpressure": os.environ.get(CONNECTIONS_VARIABLE, str(CONNECTIONS)),
        "--log-level": "warning",
    }
    flags = [part for option in options.items() for part in option]
    target = ["--ws", "--factory", "agui_host.web.application:application"]
    command = [sys.executable, "-m", "granian", *flags, *target]
    # It holds no state: dying at once frees the port for the next start.
    return Job("web", command, signal.SIGKILL, WEB_GRACE + 5.0, lambda: Health(port))


def worker(grace: float, cancelling: float = QUICK_GRACE) -> Job:
    """The process that executes runs: they get ``grace`` seconds at shutdown, and then agents
    ``cancelling`` seconds to obey."""
    command = [sys.executable, "-m", "agui_project", "run_worker"]
    seconds = time_to_leave(grace, cancelling) + 2.0
    return Job("worker", command, signal.SIGTERM, seconds, Pulse, drains=grace > QUICK_GRACE)


def environment(**extra: str) -> dict[str, str]:
    """Our environment, with paths that stay valid if the children start in another directory."""
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
        liveness: float = 0.0,
        revive: Callable[[], list[str]] = list,
        changed: Callable[[], str | None] = lambda: None,
        on_life: Callable[[], None] = lambda: None,
        on_death: Callable[[int], object] = lambda _: None,
    ) -> None:
        """``liveness`` is the silence in seconds after which a job is killed, 0 for never.

        ``revive`` restarts dead engines and returns news of them; ``changed`` names changed code;
        ``on_life`` is called once, when every job has given a sign of life; ``on_death`` with the
        registration of each process that died, and must not block.
        """
        self.jobs = jobs
        self._say = say
        self.env = dict(os.environ if env is None else env)
        self.liveness = liveness
        self.revive = revive
        self.changed = changed
        self._on_life: Callable[[], None] | None = on_life
        self._on_death = on_death
        self.ending = threading.Event()
        self._signals: list[int] = []
        self._looked = time.monotonic()

    def say(self, text: str) -> None:
        """Log a line. A log on a full disk, or a closed terminal, stops nothing."""
        with suppress(OSError):
            self._say(text)

    def listen(self) -> None:
        """Take over the signals that end a program.

        After a second one the worker no longer waits for runs; after a third nothing waits.
        """
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def start(self) -> None:
        """Start every job, in order."""
        for job in self.jobs:
            job.start(self.env)
        self._looked = time.monotonic()

    def run(self) -> None:
        """Look after the jobs until a signal comes. Call ``start`` before, ``stop`` after."""
        while not self.ending.wait(TICK):
            self.run_once()

    def run_once(self) -> None:
        """Check everything once."""
        now = time.monotonic()
        elapsed, self._looked = now - self._looked, now
        for news in self.revive():
            self.say(news)
        if file := self.changed():
            self.say(f"{file} changed; starting again")
            self._restart()
        for job in self.jobs:
            self._look(job, elapsed)
        if self._on_life is not None and all(job.lives for job in self.jobs):
            self._on_life()
            self._on_life = None

    def _look(self, job: Job, elapsed: float) -> None:
        silence, stood = job.listen(elapsed), job.stands(elapsed)
        if self.liveness > 0 and (silence > self.liveness or stood > LONGEST_STOP):
            job.end_hung()
        if (how := job.lost()) is not None:
            self.say(f"{job.name} {how}; starting it again")
        self._bury(job)
        if (problem := job.try_again(self.env)) is not None:
            self.say(f"{job.name} {problem}; trying again")

    def stop(self) -> None:
        """Stop the jobs, one after the other."""
        quick = signal.SIGINT in self._signals
        for job in self.jobs:
            job.stop(signal.SIGINT if quick else signal.SIGTERM)
            self._bury(job)

    def _bury(self, job: Job) -> None:
        died, job.died = job.died, None
        if died is not None:
            self._on_death(died)

    def _restart(self) -> None:
        self.stop()
        if not self.ending.is_set():
            self.start()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals.append(number)
        hurried = [job.hurry() for job in self.jobs if len(self._signals) == 2]
        if len(self._signals) > 1 and not any(hurried):
            for job in self.jobs:
                job.kill()
        self.ending.set()
