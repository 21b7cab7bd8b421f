"""Heavy work of a built-in agent in a child process, killed when it is no longer needed.

A thread would not do: a busy interpreter delays every run of this worker, and a thread cannot be
killed. A child is started for each call and lives no longer than it. It has its own limits, so
that it ends even if its worker was killed.
"""

import asyncio
import importlib
import json
import os
import resource
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL
from typing import Any
from weakref import WeakKeyDictionary

from agui_host.backends.places import Places
from agui_host.embedded.child import die_with_parent
from agui_host.protocol.errors import RunErrorCode, RunFailed

ROOT = Path(__file__).parents[3]
SECONDS = 60
MEMORY = 1024 * 1024 * 1024
LINE = 16 * 1024 * 1024
AT_ONCE = 2
"""Children of one worker; more calls wait, and teams take turns."""
NICENESS = 10
"""Processors that are busy serve the streams of all runs before the work of one."""

_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, Places] = WeakKeyDictionary()


async def in_child_process(
    function: str, argument: Any, seconds: float = SECONDS
) -> AsyncGenerator[Any, None]:
    """The items that ``function`` yields: ``"module:name"``, a generator of one JSON argument.

    Items are JSON. Closing this ends the child. Raises RunFailed: TIMEOUT after ``seconds``,
    AGENT_ERROR if the child fails.
    """
    loop = asyncio.get_running_loop()
    async with _slots.setdefault(loop, Places(AT_ONCE)).taken():
        until, item = loop.time() + seconds, dict[str, Any]()
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", __name__, function, str(int(seconds) + 1)),
            stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd=ROOT, env={}, limit=LINE,
            start_new_session=True,
        )  # fmt: skip
        assert child.stdin  # noqa: S101
        assert child.stdout  # noqa: S101
        try:
            with suppress(OSError):  # The child is gone, which its empty answer has shown.
                async with asyncio.timeout_at(until):
                    child.stdin.write(json.dumps(argument).encode())
                    await child.stdin.drain()
                    child.stdin.close()
            while True:
                async with asyncio.timeout_at(until):
                    line = await child.stdout.readline()
                item = json.loads(line or "{}")
                if "item" not in item:
                    break
                yield item["item"]
            if "end" not in item:
                raise RunFailed(
                    RunErrorCode.AGENT_ERROR, "This input is too much work for the agent."
                )
        except TimeoutError:
            raise RunFailed(
                RunErrorCode.TIMEOUT, f"The agent's work took longer than {seconds:g} seconds."
            ) from None
        finally:
            if child.returncode is None and "end" not in item:
                with suppress(ProcessLookupError):
                    child.kill()
            await asyncio.shield(child.wait())


def limit(what: int, most: int) -> None:
    """Lower a limit of this process, unless it is lower already."""
    hard = resource.getrlimit(what)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))


def main(function: str, seconds: str) -> None:
    """The child: read the argument, write a line of JSON for each item, and a last one."""
    die_with_parent(SIGKILL)
    os.nice(NICENESS)
    limit(resource.RLIMIT_CPU, int(seconds))
    limit(resource.RLIMIT_AS, MEMORY)
    module, _, name = function.partition(":")
    argument = json.loads(sys.stdin.buffer.read())
    for item in getattr(importlib.import_module(module), name)(argument):
        sys.stdout.write(json.dumps({"item": item}) + "\n")
        sys.stdout.flush()
    sys.stdout.write(json.dumps({"end": True}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
