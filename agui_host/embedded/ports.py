"""The ports of web processes: is one free, and which ones are in use on this machine.

Granian shares ports, so it would not notice another listener.
"""

import fcntl
import os
import socket
from argparse import ArgumentTypeError
from contextlib import closing, suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from agui_host.embedded import child

LAST = 65_535
EXIT_SECONDS = 2.0  # seconds that the web process of a killed start can need to exit
FOLDER, SUFFIX = "links", ".web"


def number(text: str) -> int:
    """A port of the command line, 0 for any free one. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) > LAST:
        raise ArgumentTypeError(f"{text} is no port: write a number from 0 to {LAST}")
    return int(text)


def claim(port: int, host: str = "127.0.0.1") -> int:
    """``port`` itself, or a free one for 0. Raises ImproperlyConfigured if it is taken."""
    if not child.wait_until(lambda: can_bind(port, host), EXIT_SECONDS):
        raise ImproperlyConfigured(
            f"PORT: {host}:{port} is taken, or not this machine's. Stop whatever listens there, or "
            f"choose another one: PORT={port % LAST + 1}, or --port {port % LAST + 1}."
        )
    if port:
        return port
    with _bound(0, host) as probe:
        return int(probe.getsockname()[1])


def announce(data: Path, port: int) -> None:
    """Let ``announced`` find the port below ``data`` until this process ends, also as a program
    that it becomes. A folder that cannot be written stops nothing."""
    with suppress(OSError):
        (data / FOLDER).mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(data / FOLDER / f"{port}{SUFFIX}", os.O_CREAT | os.O_RDONLY, 0o600)
        os.set_inheritable(lock, True)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def announced(data: Path) -> list[int]:
    """The ports of web processes on this machine that have the data directory, in order."""
    files = (data / FOLDER).glob(f"*{SUFFIX}")
    return sorted(int(file.stem) for file in files if file.stem.isdecimal() and _is_locked(file))


def _is_locked(file: Path) -> bool:
    try:
        with closing(file.open("rb")) as opened:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # another account's
        return False
    return False


def can_bind(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a server could listen on the port now."""
    try:
        _bound(port, host).close()
    except (OSError, OverflowError):
        return False
    return True


def _bound(port: int, host: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    probe = socket.socket(family)
    try:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
    except BaseException:
        probe.close()
        raise
    return probe
