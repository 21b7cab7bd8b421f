"""A TCP proxy in front of a server, which cuts, delays or swallows what passes through it.

``with Proxy(target) as proxy`` listens on a loopback port. ``target`` is the path of a Unix socket
or (host, port). Every fault counts in ``fired``, so that a test can assert that it happened.
"""

import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self

from django.conf import settings

Direction = Literal["to_server", "to_client"]
Address = str | tuple[str, int]
DIAL = 5.0
"""Seconds in which a target with a port must accept a connection."""


@dataclass
class _Cut:
    direction: Direction
    left: int
    late: float | None


@dataclass(eq=False)
class _Link:
    """One connection: both of its sockets."""

    client: socket.socket
    server: socket.socket
    swallowing: bool = False
    cut: threading.Event = field(default_factory=threading.Event)

    def close(self, *ends: socket.socket) -> None:
        for end in ends or (self.client, self.server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Proxy:
    """Passes bytes on until it is told otherwise; faults may be ordered at any time."""

    def __init__(self, target: Address) -> None:
        self.target = target
        self.delay = 0.0  # seconds before anything is passed on
        self.refusing = False  # new connections are closed at once
        self.dark = False  # new connections pass nothing on
        self.fired = 0
        self.dialling = 0  # clients for whom the target has not accepted yet
        self.passed: dict[Direction, int] = {"to_server": 0, "to_client": 0}
        self._lock = threading.Lock()
        self._links: set[_Link] = set()
        self._cut: _Cut | None = None
        self._closed = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self._listener.getsockname()[:2]

    # --- faults

    def cut_after(self, direction: Direction, count: int, *, late: float | None = None) -> None:
        """Close the connection on which the next ``count`` bytes in ``direction`` have passed.

        The client sees that at once. With ``late`` (``to_server`` only) what the client sent
        beyond them still reaches the server that many seconds later, and the server's side is
        closed after that: a commit that is under way when its connection is lost.
        """
        with self._lock:
            self._cut = _Cut(direction, count, late)

    def swallow(self) -> None:
        """Open connections pass nothing on from now on and stay open; new ones if ``dark``."""
        with self._lock:
            for link in self._links:
                link.swallowing = True
            self.fired += 1

    def cut_all(self) -> None:
        """Close all open connections."""
        with self._lock:
            links = list(self._links)
            self.fired += 1
        for link in links:
            link.cut.set()
            link.close()

    # --- at work

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._closed.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
        with self._lock:
            links = list(self._links)
        for link in links:
            link.cut.set()
            link.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                self._closed.wait(0.05)  # no file descriptor was free, for example
                continue
            if self.refusing:
                client.close()
                continue
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        """In a thread for each client: a target that is frozen keeps no other client waiting."""
        with self._lock:
            self.dialling += 1
        try:
            link = _Link(client, self._dial(), swallowing=self.dark)
        except OSError:
            client.close()
            return
        finally:
            with self._lock:
                self.dialling -= 1
        with self._lock:
            self._links.add(link)
        if self._closed.is_set():
            link.close()
        threading.Thread(target=self._pass, args=(link, "to_server"), daemon=True).start()
        self._pass(link, "to_client")

    def _dial(self) -> socket.socket:
        if isinstance(self.target, tuple):
            server = socket.create_connection(self.target, DIAL)
            server.settimeout(None)
            return server
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # Without a timeout: with one, a full queue would be an error at once.
            server.connect(self.target)
        except OSError:
            server.close()
            raise
        return server

    def _pass(self, link: _Link, direction: Direction) -> None:
        source, sink = link.client, link.server
        if direction == "to_client":
            source, sink = sink, source
        try:
            while chunk := source.recv(65536):
                if self.delay:
                    time.sleep(self.delay)
                if link.swallowing:
                    continue
                cut, rest = self._take(direction, len(chunk))
                sink.sendall(chunk[: len(chunk) - rest])
                if cut is not None:
                    self._break(link, cut, chunk[len(chunk) - rest :])
                    return
        except OSError:
            pass
        if link.swallowing and direction == "to_client":
            return  # the client is to notice nothing
        if not link.cut.is_set():
            link.close()
        with self._lock:
            self._links.discard(link)

    def _take(self, direction: Direction, size: int) -> tuple[_Cut | None, int]:
        """The cut that these bytes complete, and how many of them lie behind it."""
        with self._lock:
            cut = self._cut
            if cut is None or cut.direction != direction:
                self.passed[direction] += size
                return None, 0
            passing = min(size, cut.left)
            cut.left -= passing
            self.passed[direction] += passing
            if cut.left:
                return None, 0
            self._cut = None
            self.fired += 1
            return cut, size - passing

    def _break(self, link: _Link, cut: _Cut, rest: bytes) -> None:
        link.cut.set()
        if cut.late is None:
            link.close()
            return
        link.close(link.client)
        time.sleep(cut.late)
        with suppress(OSError):
            link.server.sendall(rest)
        link.close(link.server)


def embedded_postgres() -> str:
    """The Unix socket of this test run's PostgreSQL, for ``Proxy``."""
    database = settings.DATABASES["default"]
    return f"{database['HOST']}/.s.PGSQL.{database['PORT']}"
