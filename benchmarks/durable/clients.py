"""One client for all: bare sockets in one loop of ``selectors``, which time the first delta.

Each wire tells how its run is started by one request whose answer is the run's stream, which
bytes each delta has, and which the end.
"""

import json
import selectors
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import uuid4

from benchmarks.peers.clients import PATIENCE
from benchmarks.peers.servers import Server
from benchmarks.report import percentile

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
LAST_CHUNK = b"0\r\n\r\n"


@dataclass(frozen=True)
class Wire:
    """How to start a run that says so many deltas, and what its answer has."""

    name: str
    start: Callable[[str], tuple[str, str, str]]
    """By the script: the path, the content type and the body."""
    delta: bytes
    end: bytes


def script(deltas: int, **options: float) -> str:
    """What the agents of all servers say."""
    return json.dumps([{"text": "", "n": deltas, **options}])


def _responses(message: str) -> tuple[str, str, str]:
    body = {"model": "scripted", "input": message, "stream": True, "background": True}
    return "/responses", JSON, json.dumps({**body, "store": True})


def _own_responses(message: str) -> tuple[str, str, str]:
    path, kind, text = _responses(message)
    body = {**json.loads(text), "forwardedProps": {"script": json.loads(message)}}
    return f"/v1{path}", kind, json.dumps(body)


def _agui(message: str) -> tuple[str, str, str]:
    body = {
        "threadId": str(uuid4()), "runId": str(uuid4()), "messages": [], "tools": [],
        "context": [], "state": {}, "forwardedProps": {"script": json.loads(message)},
    }  # fmt: skip
    return "/agui/agent/scripted/run", JSON, json.dumps(body)


def _agno(message: str) -> tuple[str, str, str]:
    form = {"message": message, "stream": "true", "background": "true", "session_id": str(uuid4())}
    return "/agents/scripted/runs", FORM, urlencode(form)


def _aegra(message: str) -> tuple[str, str, str]:
    body = {
        "assistant_id": "scripted", "input": {"message": message}, "stream_mode": "custom",
        "on_disconnect": "continue",
    }  # fmt: skip
    return f"/threads/{uuid4()}/runs/stream", JSON, json.dumps(body)


def _plain(message: str) -> tuple[str, str, str]:
    return f"/runs/{uuid4()}", "text/plain", message


RESPONSES_DELTA, RESPONSES_END = b"event: response.output_text.delta", b"event: response.completed"
OWN_RESPONSES = Wire("host, OpenAI Responses", _own_responses, RESPONSES_DELTA, RESPONSES_END)
AGUI = Wire("host, AG-UI", _agui, b'"TEXT_MESSAGE_CONTENT"', b'"RUN_FINISHED"')
WIRES = {
    "AgentServer": Wire("AgentServer", _responses, RESPONSES_DELTA, RESPONSES_END),
    "DBOS": Wire("DBOS", _plain, b'{"delta"', b"event: end"),
    "Agno": Wire("Agno", _agno, b"event: RunContent\n", b"event: RunCompleted\n"),
    "Aegra": Wire("Aegra", _aegra, b'{"delta"', b'{"status":"success"}'),
    "floor": Wire("floor", _plain, b'{"delta"', b"event: end"),
}
"""By peer. The peers' wires carry one delta in one event, as the host's do."""


def request(server: Server, wire: Wire, message: str) -> bytes:
    """The bytes of a start."""
    path, kind, text = wire.start(message)
    body = text.encode()
    lines = {
        "Host": f"127.0.0.1:{server.port}", "Connection": "close", **server.headers,
        "Content-Type": kind, "Content-Length": str(len(body)), "Accept": "text/event-stream",
    }  # fmt: skip
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body


@dataclass
class _Stream:
    """One run that is being read."""

    began: float
    wire: Wire
    first: float = 0.0
    pieces: list[bytes] | None = None

    def add(self, piece: bytes) -> None:
        assert self.pieces is not None
        self.pieces.append(piece)
        if not self.first and self.wire.delta in b"".join(self.pieces[-2:]):
            self.first = time.perf_counter() - self.began

    @property
    def ended(self) -> bool:
        """Whether the answer is whole: some servers keep the connection."""
        assert self.pieces is not None
        if not self.pieces[-1].endswith(LAST_CHUNK):
            return False
        whole = self.wire.end in b"".join(self.pieces[-3:])
        return whole or not self.pieces[0].startswith(b"HTTP/1.1 200")


def run_all(
    server: Server, wire: Wire, deltas: int, runs: int, at_once: int
) -> tuple[float, list[float]]:
    """That many whole runs, so many at a time: seconds of all, and to each one's first delta."""
    message = script(deltas)
    waiting = iter([request(server, wire, message) for _ in range(runs)])
    firsts: list[float] = []
    began = time.perf_counter()
    with selectors.DefaultSelector() as ready:
        for _ in range(at_once):
            _send_next(ready, server.port, wire, waiting)
        while ready.get_map():
            events = ready.select(PATIENCE)
            assert events, f"{len(ready.get_map())} connections are silent"
            for key, _ in events:
                piece = key.fileobj.recv(1 << 18)  # type: ignore[union-attr]
                key.data.add(piece)
                if piece and not key.data.ended:
                    continue
                ready.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
                whole = b"".join(key.data.pieces)
                _judge(server, wire, deltas, whole)
                firsts.append(key.data.first)
                _send_next(ready, server.port, wire, waiting)
    return time.perf_counter() - began, firsts


STREAMS: dict[str, list[int]] = {}
"""By server: its streams, and those that ended without all deltas or without their end."""


def _judge(server: Server, wire: Wire, deltas: int, answer: bytes) -> None:
    """A peer's incomplete streams are counted; the host's and the floor's end the benchmark."""
    counts = STREAMS.setdefault(server.name, [0, 0])
    counts[0] += 1
    if answer.count(wire.delta) != deltas or wire.end not in answer:
        counts[1] += 1
        assert server.name not in ("host", "floor"), (server.name, answer[:1000], answer[-1000:])
        assert answer.startswith(b"HTTP/1.1 200"), (server.name, answer[:1000])


def streams(name: str) -> list[int]:
    """What ``STREAMS`` has of a server, in the process of the clients."""
    return STREAMS[name]


def _send_next(
    ready: selectors.BaseSelector, port: int, wire: Wire, waiting: Iterable[bytes]
) -> None:
    for each in waiting:
        began = time.perf_counter()
        link = socket.create_connection(("127.0.0.1", port))
        link.sendall(each)
        link.setblocking(False)
        ready.register(link, selectors.EVENT_READ, _Stream(began, wire, pieces=[]))
        return


def runs_per_second(server: Server, wire: Wire, runs: int, at_once: int) -> float:
    """Whole runs of one delta."""
    return runs / run_all(server, wire, 1, runs, at_once)[0]


def first_delta_ms(server: Server, wire: Wire, runs: int, at_once: int) -> float:
    """POST → first delta, the median."""
    return percentile(run_all(server, wire, 1, runs, at_once)[1], 0.5) * 1000


def deltas_per_second(server: Server, wire: Wire, runs: int, deltas: int) -> float:
    """Delivered by that many runs at once."""
    return runs * deltas / run_all(server, wire, deltas, runs, runs)[0]
