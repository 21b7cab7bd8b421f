"""Run a ``process`` agent the way the executor does, and look at what is left of it."""

import asyncio
import os
import sys
import textwrap
from contextlib import aclosing
from pathlib import Path
from typing import Any

from agui_host import RunContext
from agui_host.embedded.child import alive, wait_until
from agui_host.protocol.intake.intake import Intake
from agui_host.runtimes.kinds.process.command import Command
from agui_host.runtimes.kinds.process.runtime import ProcessRuntime
from tests.runtimes.playing import run_input

RECORDED = Path(__file__).with_name("recorded")


def script(body: str) -> list[str]:
    """The argument list of a Python script."""
    return [sys.executable, "-c", textwrap.dedent(body)]


def strict(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same events, after an intake that mends nothing has taken all of them."""
    intake = Intake("t", "r", repair=False)
    for event in events:
        intake.accept(event)
    return events


async def process(
    argv: list[str], body: dict[str, Any] | None = None, **settings: Any
) -> list[dict[str, Any]]:
    """Every event of one run of a command, each legal where it stands.

    Unconfined: test_process_confined.py is about the confinement.
    """
    events: list[dict[str, Any]] = []
    runtime = ProcessRuntime(Command.of({"argv": argv, "unconfined": True, **settings}))
    ctx = RunContext(body or run_input("hello"), agent="cli", team="team")
    async with aclosing(runtime.run(ctx)) as stream:
        async for event in stream:
            events.append(event)
    return strict(events)


class Leftovers:
    """What there was before, to say what there is more of now."""

    def __init__(self) -> None:
        self.files = open_files()
        self.tasks = asyncio.all_tasks()

    def gone(self, *pids: int) -> None:
        """Nothing was left behind: no process, no open file or socket, no task."""
        assert wait_until(lambda: not any(map(alive, pids)), 10)
        assert not children(), children()
        assert open_files() == self.files
        assert {task for task in asyncio.all_tasks() - self.tasks if not task.done()} == set()


def open_files() -> list[str]:
    """What this process holds open, without the directory that is being read."""
    files = []
    for name in os.listdir("/proc/self/fd"):
        try:
            files.append(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
        except OSError:
            continue
    return sorted(files)


def exists(pid: int) -> bool:
    """Whether there is such a process, also as a zombie."""
    return Path(f"/proc/{pid}").exists()


def children() -> list[int]:
    """Guards of this process, also as zombies."""
    pids = []
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            line = Path(f"/proc/{pid}/cmdline").read_bytes() if exists(int(pid)) else b""
            if b"guard.py" in line or not line:
                pids.append(int(pid))
    return pids
