"""A command's standard input that stays open, and whether the command has read it."""

import array
import asyncio
import fcntl
import os
import select
import sys
import termios
import time

SOON, LATER = 0.01, 0.5
"""Seconds between two looks at a command that does not read, at first and at last."""
LAST = 2.0


class OpenInput:
    """The writing end of a pipe. ``end`` it, and the command reads to its end."""

    def __init__(self, end: int) -> None:
        os.set_blocking(end, False)
        self._end: int | None = end
        self._is_busy = False
        self._until = float("inf")

    async def write(self, data: bytes) -> bool:
        """Write all of it; True once the command has read it, False if it reads no more.

        The bytes wait in the pipe of a command that is busy. Only Linux tells whether they do.
        """
        self._is_busy = True
        try:
            return await self._write(memoryview(data))
        finally:
            self._is_busy = False
            if self._until < float("inf"):
                self.close()

    async def _write(self, left: memoryview) -> bool:
        pause = SOON
        while self._end is not None and time.monotonic() < self._until:
            try:
                if left:
                    left = left[os.write(self._end, left) :]
                    pause = SOON
                if not left and not self._waits():
                    return True
            except BlockingIOError:
                pass
            except OSError:
                return False
            if self._is_deaf():
                return False
            await asyncio.sleep(pause)
            pause = min(2 * pause, LATER)
        return False

    def end(self) -> None:
        """Nothing more comes; a message on its way has ``LAST`` seconds to be read."""
        if self._is_busy:
            self._until = min(self._until, time.monotonic() + LAST)
        else:
            self.close()

    def close(self) -> None:
        """Close it at once."""
        end, self._end = self._end, None
        if end is not None:
            os.close(end)

    def _waits(self) -> bool:
        """Whether bytes are in the pipe."""
        if self._end is None or not sys.platform.startswith("linux"):
            return False
        count = array.array("i", [0])
        fcntl.ioctl(self._end, termios.FIONREAD, count)
        return count[0] > 0

    def _is_deaf(self) -> bool:
        """Whether no process has the other end."""
        if self._end is None:
            return True
        look = select.poll()
        look.register(self._end, 0)
        return bool(look.poll(0))
