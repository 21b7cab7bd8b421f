"""The worker's side of a command: starts it behind its guard, reads it at our pace, ends it."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from agui_host.runtimes.kinds.process.open_input import OpenInput

GUARD = Path(__file__).with_name("guard.py")
CHUNK = 64 * 1024
AHEAD = 4
"""How many chunks may wait; then the pipes fill, and the command blocks in its output."""
DRAIN = 2.0
"""Seconds for an output to end after its last writer; longer only if a process has escaped."""
MARGIN = 6.0
"""Seconds beyond ``grace`` for the guard to finish; then it is killed."""


class GuardedCommand:
    """A running command. ``report`` comes from its guard; complete once ``read`` returned None."""

    def __init__(self, grace: float) -> None:
        self.report: dict[str, Any] = {}
        self._grace = grace
        self._queue: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue(AHEAD)
        self._open = {"out", "err", "end"}
        self._tasks: list[asyncio.Task[None]] = []
        self._pipes: list[asyncio.BaseTransport] = []
        self.input: OpenInput | None = None

    _control: socket.socket
    _writer: asyncio.StreamWriter  # kept, because a garbage-collected one closes its socket
    _listening: asyncio.Task[None]
    _guard: "subprocess.Popen[bytes]"

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        stdin: bytes | None,
        limits: Mapping[str, Any],
    ) -> "GuardedCommand":
        """Start ``command``; ``limits`` are the guard's. Without ``stdin``, ``input`` is open.

        If the command cannot be started, it is in the report; OSError means that the guard cannot.
        """
        child = cls(float(limits["grace"]))
        out, theirs_out = os.pipe()
        err, theirs_err = os.pipe()
        child._control, theirs = socket.socketpair()
        theirs_in = _file_of(stdin) if stdin is not None else child._open_input()
        try:
            # Everything that waits comes first: nothing can come between the fork and its cleanup.
            await child._connect("out", out)
            await child._connect("err", err)
            reader, child._writer = await asyncio.open_connection(sock=child._control)
            child._pipes.append(child._writer.transport)
            child._guard = _spawn(
                command, env, cwd, limits, theirs, (theirs_in, theirs_out, theirs_err)
            )  # fmt: skip
        except BaseException:
            child._close()
            raise
        finally:
            theirs.close()
            for end in (theirs_in, theirs_out, theirs_err):
                os.close(end)
        child._listening = asyncio.create_task(child._listen(reader))
        return child

    async def read(self) -> tuple[str, bytes] | None:
        """The next piece of "out" or "err"; None once the command has ended and all was read."""
        while self._open:
            try:
                # The guard's processes write no more; a process that still has the pipe open has
                # escaped.
                limit = None if "end" in self._open else DRAIN
                async with asyncio.timeout(limit):
                    name, data = await self._queue.get()
            except TimeoutError:
                break
            if data:
                return name, data
            self._open.discard(name)
        return None

    async def finish(self, seconds: float) -> None:
        """Let it end by itself, whatever it still prints."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while await self.read() is not None:
                    pass

    async def stop(self) -> None:
        """End it if it has not ended, and wait until nothing of it is left."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)  # At once: the guard acts whatever happens here.
        try:
            done, _ = await asyncio.wait({self._listening}, timeout=self._grace + MARGIN)
            if not done:
                self._guard.kill()
        finally:
            self._close()
        while self._guard.poll() is None:  # its socket is closed: it is about to exit
            await asyncio.sleep(0.005)
        if not self.report.keys() - {"pid"}:
            self._without_guard()

    def _without_guard(self) -> None:
        # Something killed the guard. The kernel has killed the command; its group can live.
        self.report["error"] = "lost its guard"
        with suppress(OSError, KeyError):
            os.killpg(self.report["pid"], signal.SIGKILL)

    def _close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for pipe in self._pipes:
            pipe.close()
        if self.input is not None:
            self.input.close()

    def _open_input(self) -> int:
        theirs, ours = os.pipe()
        self.input = OpenInput(ours)
        return theirs

    async def _connect(self, name: str, end: int) -> None:
        reader = asyncio.StreamReader(CHUNK)
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(end, "rb", 0)
        )
        self._pipes.append(pipe)
        self._tasks.append(asyncio.create_task(self._pump(name, reader)))

    async def _pump(self, name: str, reader: asyncio.StreamReader) -> None:
        while data := await reader.read(CHUNK):
            await self._queue.put((name, data))
        await self._queue.put((name, b""))

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError, ValueError):
            async for line in reader:
                self.report |= json.loads(line)
        self._tasks.append(asyncio.create_task(self._queue.put(("end", b""))))


def _file_of(stdin: bytes) -> int:
    # A file rather than a pipe: no task has to feed a command that does not read.
    with tempfile.TemporaryFile() as file:
        file.write(stdin)
        file.seek(0)
        return os.dup(file.fileno())


def _spawn(
    command: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    limits: Mapping[str, Any],
    control: socket.socket,
    standard: tuple[int, int, int],
) -> "subprocess.Popen[bytes]":
    guard = [
        sys.executable,
        "-I",
        "-S",
        str(GUARD),
        str(control.fileno()),
        json.dumps(dict(limits)),
    ]
    return subprocess.Popen(  # noqa: S603  (an operator's command line)
        [*guard, *command],
        stdin=standard[0],
        stdout=standard[1],
        stderr=standard[2],
        env=dict(env),
        cwd=cwd,
        start_new_session=True,
        pass_fds=(control.fileno(),),
    )
