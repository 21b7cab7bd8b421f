"""How the supervisor distinguishes a working process from a hanging one, without the database.

A worker writes into a pipe every second, from a thread that does nothing else: while an agent holds
the GIL it writes nothing, and while the database is away it continues. It writes the number of its
registration, so that its supervisor can end that once the worker is dead. A web process answers
HTTP, with any status.
"""

import http.client
import os
import re
import sys
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Protocol

EVERY = 1.0  # seconds between two signs of life
ANSWER_SECONDS = 5.0  # for one answer of the web process


REGISTRATION = re.compile(rb"<(\d+)>")


def pulse_of(registration: int | None) -> bytes:
    """A sign of life for ``Pulse``, with the registration as soon as there is one."""
    return b"." if registration is None else b"<%d>" % registration


QUICK_GRACE = 5.0
"""Seconds that runs get after Ctrl-C, after a second signal, and if a worker lost its runs."""


def time_to_leave(grace: float, cancelling: float) -> float:
    """Seconds from SIGTERM until a worker must be gone.

    The time of the runs (``grace``), the time for a cancelled agent after that, and the time
    to store their ends.
    """
    return grace + cancelling + 5.0


class Sign(Protocol):
    """Signs of life of one process. None of the methods blocks."""

    flags: Sequence[str]
    fds: Sequence[int]
    description: str
    writes_stacks: bool
    """Whether SIGQUIT makes the process log the stacks of its threads, even while it hangs."""
    registration: int | None
    """The number under which the process is registered in the database, if it is."""

    def begin(self) -> None:
        """Called once the process has been started with ``flags`` and ``fds``."""

    def beat(self) -> bool:
        """Whether there was a sign of life since the last call."""

    def end(self) -> None:
        """Called when the process is gone."""


class Pulse:
    """The reading end of a pipe that the process writes to (``runs/worker/watchdog.py``)."""

    description = "gave no sign of life"
    writes_stacks = True

    def __init__(self) -> None:
        self.registration: int | None = None
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)
        self.flags: Sequence[str] = ["--pulse", str(self._writer)]
        self.fds: Sequence[int] = [self._writer]

    def begin(self) -> None:
        """Close the child's end, after the child has inherited it."""
        os.close(self._writer)

    def beat(self) -> bool:
        """Whether the child has written since the last call."""
        with suppress(BlockingIOError):
            pulses = os.read(self._reader, 65536)
            if numbers := REGISTRATION.findall(pulses):
                self.registration = int(numbers[-1])
            return bool(pulses)
        return False

    def end(self) -> None:
        """Close our end."""
        os.close(self._reader)


class Health:
    """A thread that requests ``/health``, so that a hanging web process does not block others.

    It keeps its connection: while strangers hold all that a web process takes, that answers no
    new one, and was killed for it.
    """

    description = "did not answer /health"
    writes_stacks = False
    registration: int | None = None
    flags: Sequence[str] = ()
    fds: Sequence[int] = ()

    def __init__(self, port: int) -> None:
        self.port = port
        self._answered = threading.Event()
        self._ended = threading.Event()

    def begin(self) -> None:
        """Ask for the child's health from a separate thread."""
        threading.Thread(target=self._ask, name="health", daemon=True).start()

    def beat(self) -> bool:
        """Whether the child has answered since the last call."""
        answered = self._answered.is_set()
        self._answered.clear()
        return answered

    def end(self) -> None:
        """Ask no more."""
        self._ended.set()

    def _ask(self) -> None:
        with closing(_connection(self.port)) as web:
            while not self._ended.wait(EVERY):
                if _status(web, "/health") is not None:
                    self._answered.set()


def health(port: int) -> int | None:
    """The status of ``/health`` on this machine, or None without an answer."""
    with closing(_connection(port)) as web:
        return _status(web, "/health")


def ready(port: int) -> int | None:
    """The status of ``/ready``: 200 if this process can serve."""
    with closing(_connection(port)) as web:
        return _status(web, "/ready")


def _connection(port: int) -> http.client.HTTPConnection:
    # Not urllib, which would use the proxy of the environment.
    return http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)


def _status(web: http.client.HTTPConnection, path: str) -> int | None:
    """The status of an answer over this connection, which is opened if it is not open."""
    try:
        web.request("GET", path)
        with web.getresponse() as answer:
            answer.read()  # Before that the connection takes no other request.
            return answer.status
    except (OSError, http.client.HTTPException):
        web.close()
        return None


# the health check of a container, with the port if it is not the default
if __name__ == "__main__":
    sys.exit(0 if ready(int(sys.argv[1]) if sys.argv[1:] else 8000) == 200 else 1)
