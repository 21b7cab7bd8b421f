"""With ``-n`` tests run side by side, but those that judge time choose their company.

One marked ``alone`` has the machine to itself: it takes the cores that it judges by. One marked
``apart`` leaves them idle for most of its time, waiting until a host has healed: others of its kind
may run meanwhile, and nothing else. Each kind has a file that its tests lock while they run, shared
or, ``alone``, exclusively. Each test passes a gate first and keeps it until nobody of another kind
runs and it has its lock, so that no stream of other tests overtakes one that waits.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FOLDER = "turns"
TOGETHER, APART, ALONE = "together", "apart", "alone"


class Turns:
    """In a process that runs tests: holds each until its turn has come."""

    def __init__(self, folder: Path) -> None:
        self.gate = folder / "gate"
        self.locks = {kind: folder / kind for kind in (TOGETHER, APART, ALONE)}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool, bool]:
        """Before the clock of pytest-timeout starts: waiting costs no test its own time."""
        with self.turn(kind_of(item)):
            return (yield)

    @contextmanager
    def turn(self, kind: str) -> Iterator[None]:
        """Wait until what runs lets a test of this kind run."""
        gate = _locked(self.gate, fcntl.LOCK_EX)
        try:
            for other in self.locks.keys() - {kind}:
                _release(_locked(self.locks[other], fcntl.LOCK_EX))  # the last of them has ended
            how = fcntl.LOCK_EX if kind == ALONE else fcntl.LOCK_SH
            lock = _locked(self.locks[kind], how)
        finally:
            _release(gate)
        try:
            yield
        finally:
            _release(lock)


def kind_of(item: pytest.Item) -> str:
    """What may run beside this test."""
    return next((kind for kind in (ALONE, APART) if item.get_closest_marker(kind)), TOGETHER)


class Folder:
    """In the process that hands tests out: makes what the others lock, and removes it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="agui-turns-"))

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[FOLDER] = str(self.path)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def install(config: pytest.Config) -> None:
    """Register the side of it that this process is on; without ``-n`` there is nothing to do."""
    if is_worker(config):
        config.pluginmanager.register(Turns(Path(config.workerinput[FOLDER])))  # type: ignore[attr-defined]
    elif config.getoption("numprocesses", None):
        folder = Folder()
        config.add_cleanup(folder.remove)
        config.pluginmanager.register(folder)


def is_worker(config: pytest.Config) -> bool:
    """Whether this process runs tests for another one."""
    return hasattr(config, "workerinput")


def _locked(path: Path, how: int) -> int:
    """Wait for the lock."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, how)
    return descriptor


def _release(descriptor: int) -> None:
    """Unlock before closing: a forked child may have a copy, which would hold the lock."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
