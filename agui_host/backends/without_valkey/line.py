"""The one session of a process that notifies and listens: a thread that waits for both.

NOTIFY takes a lock of the whole server until its commit. So it is a statement for itself, after the
commit that it announces, and whatever is waiting by then goes into the same statement.
"""

import os
import select
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import psycopg
import structlog
from psycopg.pq import ConnStatus

from agui_host.backends.postgres.base import session_parameters
from agui_host.backends.postgres.deadlines import Connection
from agui_host.backends.without_valkey.payloads import LOOK, MOST

log = structlog.get_logger(__name__)
CHANNEL = "agui_bell"
NAME = "agui-bell"
RING = "select pg_notify(%s, payload) from unnest(%s::text[]) payload"
PING_EVERY = 5.0
DEADLINE = 5.0
PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)  # seconds between tries to connect


def connect(name: str) -> Connection:
    """A session of PostgreSQL itself, whose commits need not reach the disk."""
    values = {**session_parameters(), "application_name": name}
    connection: Connection = Connection.connect(**values, autocommit=True)
    connection.deadline, connection.asks = DEADLINE, True
    connection.execute("set synchronous_commit = off")
    return connection


class Line:
    """Notifies from any thread; passes received payloads to ``on_payload``, in its own thread.

    After a break it passes ``LOOK``, since notifications of the meantime are lost.
    """

    def __init__(self, on_payload: Callable[[str], None]) -> None:
        self._on_payload = on_payload
        self._outbox: deque[tuple[Sequence[str], Future[None]]] = deque()
        self._waiting: list[Future[None]] = []  # for the LISTEN
        self._wants_to_listen = self._is_listening = self._was_listening = False
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._inlet, self._outlet = os.pipe()
        os.set_blocking(self._inlet, False)
        os.set_blocking(self._outlet, False)
        self._thread: threading.Thread | None = None

    def ring(self, payloads: Sequence[str]) -> "Future[None]":
        """Notify all listening processes; done when PostgreSQL has it, or failed."""
        done: Future[None] = Future()
        with self._lock:
            self._outbox.append((payloads, done))
        self._wake()
        return done

    def listen(self) -> "Future[None]":
        """Done when this process receives every notification that is sent from now on."""
        done: Future[None] = Future()
        with self._lock:
            self._wants_to_listen = True
            if self._is_listening:
                done.set_result(None)
                return done
            self._waiting.append(done)
        self._wake()
        return done

    def close(self) -> None:
        """End the thread and its session (at the end of a test; a process simply ends)."""
        self._over.set()
        self._wake()
        if self._thread is not None:
            self._thread.join()

    def _wake(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="bell", daemon=True)
                self._thread.start()
        try:
            os.write(self._outlet, b"!")
        except BlockingIOError:
            return  # It is full: the thread will wake.

    def _run(self) -> None:
        tries = 0
        while not self._over.is_set():
            try:
                with connect(NAME) as connection:
                    tries = 0
                    self._serve(connection)
            except (psycopg.Error, OSError) as error:
                self._fail(error)
                log.warning("bell.disconnected", error=type(error).__name__)
            if self._over.is_set():
                return
            self._pause(PAUSES[min(tries, len(PAUSES) - 1)])
            tries += 1

    def _serve(self, connection: Connection) -> None:
        heard: list[str] = []
        connection.add_notify_handler(lambda notice: heard.append(notice.payload))
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        poll.register(self._inlet, select.POLLIN)
        while not self._over.is_set():
            self._listen(connection)
            self._ring(connection)
            for payload in heard:
                self._on_payload(payload)
            heard.clear()
            ready = {descriptor for descriptor, _ in poll.poll(PING_EVERY * 1000)}
            if not ready:
                connection.execute("select 1")
            if self._inlet in ready:
                self._drain()
            if connection.fileno() in ready:
                heard += _read(connection)

    def _listen(self, connection: Connection) -> None:
        if self._is_listening or not self._wants_to_listen:
            return
        connection.execute(f"listen {CHANNEL}")
        with self._lock:
            self._is_listening = True
            waiting, self._waiting = self._waiting, []
        if self._was_listening:
            log.info("bell.connected_again")
            self._on_payload(LOOK)
        self._was_listening = True
        for done in waiting:
            _finish(done)

    def _ring(self, connection: Connection) -> None:
        with self._lock:
            items = list(self._outbox)
        texts = list(dict.fromkeys(text for payloads, _ in items for text in payloads))
        if texts:
            connection.execute(RING, [CHANNEL, texts if len(texts) <= MOST else [LOOK]])
        with self._lock:
            for _ in items:
                self._outbox.popleft()
        for _, done in items:
            _finish(done)

    def _fail(self, error: Exception) -> None:
        with self._lock:
            self._is_listening = False
            failed = [done for _, done in self._outbox] + self._waiting
            self._outbox.clear()
            self._waiting = []
        for done in failed:
            _finish(done, error)

    def _pause(self, seconds: float) -> None:
        poll = select.poll()
        poll.register(self._inlet, select.POLLIN)
        poll.poll(
            seconds * 1000 if self._outbox or self._waiting or self._wants_to_listen else None
        )

    def _drain(self) -> None:
        try:
            while os.read(self._inlet, 4096):
                pass
        except BlockingIOError:
            return


def _read(connection: Connection) -> list[str]:
    """The payloads that have come. Raises OperationalError if the session has ended."""
    connection.pgconn.consume_input()
    if connection.pgconn.status == ConnStatus.BAD:
        raise psycopg.OperationalError("the session of the bell has ended")
    heard: list[str] = []
    while (notice := connection.pgconn.notifies()) is not None:
        heard.append(notice.extra.decode())
    return heard


def _finish(done: "Future[None]", error: Exception | None = None) -> None:
    if not done.set_running_or_notify_cancel():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
