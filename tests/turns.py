"""With ``-n`` tests run side by side, but one marked ``alone`` has the machine to itself.

Such a test judges time or takes every core. It locks a file exclusively, while all others share
the lock. Each test passes a gate first and keeps it until it has the lock, so that no stream of
other tests overtakes one that waits.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

FOLDER = "turns"


class Turns:
    """In a process that runs tests: holds each until its turn has come."""

    def __init__(self, folder: Path) -> None:
        self.gate, self.lock = folder / "gate", folder / "lock"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool, bool]:
        """Before the clock of pytest-timeout starts: waiting costs no test its own time."""
        how = fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH
        gate = _locked(self.gate, fcntl.LOCK_EX)
        try:
            lock = _locked(self.lock, how)
        finally:
            _release(gate)
        try:
            return (yield)
        finally:
            _release(lock)


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
