"""The supervisor of one process of a deployment, without Django, which takes 100 MB.

``manage.py supervise`` checks the settings and becomes this program, under the same process id.
Only a process that runs for a moment (``burial``), after a worker's death, needs the database.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

from agui_host.embedded import child, supervisor, systemd
from agui_host.security import own_secrets

MODULE = __name__ if __name__ != "__main__" else "agui_host.embedded.deployed"
BURIAL = "agui_host.embedded.burial"
LAST = 5.0
"""Seconds that a supervisor which ends waits for the ends of its dead workers' registrations."""


@dataclass(frozen=True)
class Order:
    """A web process or a worker, and the settings that its supervisor needs."""

    process: str
    host: str
    port: int
    grace: float
    cancelling: float
    liveness: float

    def job(self) -> supervisor.Job:
        """The job that the supervisor keeps running."""
        if self.process == "web":
            return supervisor.web(self.port, self.host)
        return supervisor.worker(self.grace, self.cancelling)


class Burials:
    """Processes that end the registrations of dead workers."""

    def __init__(self, env: Mapping[str, str], database: str) -> None:
        """``database`` is what they connect with, as JSON."""
        self._env, self._database = env, database
        self._processes: list[subprocess.Popen[bytes]] = []

    def begin(self, worker: int) -> None:
        """Start one; if there is no room for it, the heartbeat tells the death."""
        self._processes = [each for each in self._processes if each.poll() is None]
        with suppress(OSError), open(piped(self._database), "rb") as pipe:
            command = [sys.executable, "-m", BURIAL, str(worker), str(pipe.fileno())]
            process = child.spawn(
                command, death=signal.SIGTERM, env=self._env, cwd=supervisor.ROOT,
                fds=(pipe.fileno(),),
            )  # fmt: skip
            self._processes.append(process)

    def settle(self) -> None:
        """Wait for those that run, and end them then."""
        until = time.monotonic() + LAST
        for each in self._processes:
            with suppress(subprocess.TimeoutExpired):
                each.wait(max(0.0, until - time.monotonic()))
            child.stop(each, (signal.SIGTERM, 1.0), (signal.SIGKILL, 1.0))


def piped(text: str) -> int:
    """A pipe with a text that no other process can read; it must fit in the pipe."""
    reading, writing = os.pipe()
    with open(writing, "w") as pipe:
        pipe.write(text)
    return reading


def become(order: Order, database: Mapping[str, Any]) -> NoReturn:
    """Replace this process, and its memory, by the supervisor.

    ``database``: psycopg's parameters of the supervised process, with the password.
    """
    env = supervisor.environment()
    os.chdir(supervisor.ROOT)
    pipe = piped(json.dumps(database))
    os.set_inheritable(pipe, True)
    command = [sys.executable, "-m", MODULE, json.dumps(asdict(order)), str(pipe)]
    os.execve(sys.executable, command, env)  # noqa: S606  (our own command line)


def say(text: str) -> None:
    """A line of the supervisor itself."""
    print(f"supervise: {text}", file=sys.stderr, flush=True)


def main(argument: str, pipe: str) -> None:
    """Look after the process until a signal comes."""
    own_secrets.hide()  # exec has undone it
    with open(int(pipe)) as parameters:
        database = parameters.read()
    order = Order(**json.loads(argument))
    ready = systemd.readiness()
    env = dict(os.environ)
    burials = Burials(env, database)
    supervised = supervisor.Supervisor(
        [order.job()], say, env=env, liveness=order.liveness, on_life=ready,
        on_death=burials.begin,
    )  # fmt: skip
    supervised.listen()
    supervised.start()
    try:
        supervised.run()
    finally:
        supervised.stop()
        burials.settle()


if __name__ == "__main__":
    main(*sys.argv[1:])
