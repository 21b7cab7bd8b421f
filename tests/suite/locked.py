"""Whether an environment has what a lock file pins: a stamp in it has the file's digest.

Times do not tell. The files of a clone are as new as the clone, and environments are shared by
clones that link to one ``.venv``.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path


def is_installed(stamp: Path, lock: Path) -> bool:
    """Whether ``note`` was called with this content of the lock file."""
    return stamp.exists() and stamp.read_text() == _digest(lock)


def note(stamp: Path, lock: Path) -> None:
    """Everything is installed."""
    stamp.write_text(_digest(lock))


@contextmanager
def alone(environment: Path) -> Iterator[None]:
    """While no other process of the tests installs into this directory."""
    environment.parent.mkdir(parents=True, exist_ok=True)
    with environment.with_name(f"{environment.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _digest(lock: Path) -> str:
    return sha256(lock.read_bytes()).hexdigest()
