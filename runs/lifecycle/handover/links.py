"""Links of a web process to the workers of its machine: a worker is handed what it has room for.

A worker serves a Unix socket in a folder below ``AGUI_DATA_DIR``, whose name is the id of its link:
several databases can have this folder, and each finds only its own workers by the id. Each line
that the worker sends is a credit, the right to hand over one line. Nothing answers a line: where a
link breaks, the worker looks into the database for what was meant for it. The processes of other
machines, and those with another ``AGUI_DATA_DIR``, have no link and use the queue.
"""

import asyncio
import functools
import random
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

import structlog
from django.conf import settings

log = structlog.get_logger(__name__)
FOLDER, SUFFIX = "links", ".2.sock"
"""The number is the form of the lines: releases with different forms have no links."""
MOST_PATH = 80
"""Bytes of the folder's path: the system takes 107 for that of a socket."""
LOOK = 1.0
"""Seconds between two looks for new workers."""


def folder() -> Path | None:
    """Where workers put their sockets; None if no socket can have so long a path."""
    where = Path(settings.AGUI_DATA_DIR) / FOLDER
    return where if len(bytes(where)) < MOST_PATH else None


class Link:
    """A link to one worker, safe in threads."""

    def __init__(self, name: str, connected: socket.socket) -> None:
        self.name, self.credits = name, 0
        self._socket = connected
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Use a credit, if there is one."""
        with self._lock:
            self.credits -= (is_taken := self.credits > 0)
            return is_taken

    def give(self, credits_: int) -> None:
        """Count further credits."""
        with self._lock:
            self.credits += credits_

    def send(self, line: bytes) -> None:
        """Send a line, or nothing; a link that has taken a part of it is cut.

        By the caller's own thread: the event loop would have to be woken for it.
        """
        line += b"\n"
        with self._lock, suppress(OSError):
            if self._socket.send(line, socket.MSG_DONTWAIT) < len(line):
                self._socket.shutdown(socket.SHUT_RDWR)


class Credit:
    """The right to hand one line to a worker; a ``with`` block without a hand gives it back."""

    def __init__(self, link: Link) -> None:
        self._link, self._is_used = link, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_used:
            self._link.give(1)

    @property
    def link(self) -> str:
        """The id of the worker's link."""
        return self._link.name

    def hand(self, line: bytes) -> None:
        """Hand the line over, if the link is still there."""
        self._is_used = True
        self._link.send(line)


class Links:
    """The links of this process."""

    def __init__(self) -> None:
        self._links: dict[Path, Link] = {}
        self._tasks: dict[Path, asyncio.Task[None]] = {}

    @property
    def all(self) -> list[Link]:
        """The links of now."""
        return list(self._links.copy().values())

    @property
    def credits(self) -> int:
        """How many starts could be handed over now."""
        return sum(each.credits for each in self.all)

    def credit(self) -> Credit | None:
        """A credit of any worker, by chance; None if there is none. For any thread."""
        ours = self.all
        random.shuffle(ours)
        return next((Credit(link) for link in ours if link.take()), None)

    async def keep(self) -> None:
        """Link this process with each worker that comes, until it is cancelled."""
        where = folder()
        try:
            while where is not None:
                for path in where.glob(f"*{SUFFIX}"):
                    if path not in self._tasks:
                        follow = self._follow(path)
                        self._tasks[path] = asyncio.create_task(follow, name=f"link {path.stem}")
                await asyncio.sleep(LOOK)
        finally:
            for task in list(self._tasks.values()):
                task.cancel()

    async def _follow(self, path: Path) -> None:
        loop = asyncio.get_running_loop()
        try:
            with socket.socket(socket.AF_UNIX) as connected:
                connected.setblocking(False)
                await loop.sock_connect(connected, str(path))
                link = self._links[path] = Link(path.name.removesuffix(SUFFIX), connected)
                while credits_ := await loop.sock_recv(connected, 1024):
                    link.give(len(credits_))
        except ConnectionRefusedError:  # A worker that was killed leaves its socket.
            path.unlink(missing_ok=True)
        except OSError as error:
            log.info("link.broken", link=path.stem, error=repr(error))
        finally:
            self._links.pop(path, None)
            del self._tasks[path]


@functools.cache
def links() -> Links:
    """Those of this process."""
    return Links()
