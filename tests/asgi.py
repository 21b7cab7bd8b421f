"""The whole ASGI application without sockets: complete answers, open streams, WebSockets."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from channels.testing import WebsocketCommunicator

from agui_host.web.asgi import application
from events.hub import hub

Headers = Mapping[str, str]
HOST = "localhost"
DEADLINE = 20.0
WHOLE_DEADLINE = 120.0
"""Of a whole answer: a stream that goes on by mistake sends comments within every ``DEADLINE``."""


@dataclass(frozen=True)
class Answer:
    """A complete answer; header names are lower-case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error, whose shape is checked on the way."""
        assert self.headers["content-type"] == "application/json", self.body
        error = self.json["error"]
        assert set(self.json) == {"error"}
        assert set(error) == {"code", "message", "details"}
        assert isinstance(error["details"], dict)
        assert error["message"]
        return str(error["code"])


def http_scope(method: str, url: str, headers: Headers | None = None) -> dict[str, Any]:
    path, _, query = url.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": _raw({"host": HOST, **(headers or {})}),
        "client": ("127.0.0.1", 1),
        "server": (HOST, 80),
    }


def _raw(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


class Exchange:
    """One HTTP request to the application; ``async with`` disconnects at the end."""

    def __init__(
        self,
        method: str,
        url: str,
        headers: Headers | None = None,
        *,
        body: bytes = b"",
        json: Any = None,
    ) -> None:
        headers = dict(headers or {})
        if json is not None:
            body = _dumps(json)
            headers.setdefault("content-type", "application/json")
        if body:
            headers.setdefault("content-length", str(len(body)))
        self._scope = http_scope(method, url, headers)
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._inbox.put_nowait({"type": "http.request", "body": body, "more_body": False})
        self._outbox: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.status = 0
        self.headers: dict[str, str] = {}
        self.ended = False

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        start = await self._next()
        assert start is not None
        assert start["type"] == "http.response.start"
        self.status = start["status"]
        self.headers = {
            name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]
        }
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._inbox.put_nowait({"type": "http.disconnect"})
        async with asyncio.timeout(DEADLINE):
            await self._task

    async def _run(self) -> None:
        try:
            await application(self._scope, self._inbox.get, self._outbox.put)
        finally:
            self._outbox.put_nowait(None)

    async def _next(self) -> dict[str, Any] | None:
        async with asyncio.timeout(DEADLINE):
            message = await self._outbox.get()
        if message is None:
            await self._task  # what the application raised
        return message

    async def chunk(self) -> bytes | None:
        """The next piece of the body; None behind the last one."""
        if self.ended:
            return None
        message = await self._next()
        assert message is not None, "the answer was never completed"
        self.ended = not message.get("more_body", False)
        return bytes(message.get("body", b""))

    async def rest(self) -> bytes:
        """The body up to its end."""
        chunks = []
        while (chunk := await self.chunk()) is not None:
            chunks.append(chunk)
        return b"".join(chunks)

    async def until(self, needle: bytes) -> bytes:
        """The body up to the piece that completes ``needle``."""
        received = b""
        while needle not in received:
            chunk = await self.chunk()
            assert chunk is not None, f"the body ended without {needle!r}: {received!r}"
            received += chunk
        return received


async def ask(
    method: str,
    url: str,
    headers: Headers | None = None,
    *,
    body: bytes = b"",
    json: Any = None,
) -> Answer:
    """A request and its complete answer."""
    async with Exchange(method, url, headers, body=body, json=json) as exchange:
        async with asyncio.timeout(WHOLE_DEADLINE):
            answer = await exchange.rest()
        return Answer(exchange.status, exchange.headers, answer)


def ask_now(
    method: str,
    url: str,
    headers: Headers | None = None,
    *,
    body: bytes = b"",
    json: Any = None,
) -> Answer:
    """``ask`` for synchronous tests.

    A stream starts the hub of this loop. ``asyncio.run`` cancels its tasks once and then waits for
    them, for ever if the cancellation was swallowed; ``Hub.close`` cancels again.
    """

    async def ask_and_close() -> Answer:
        try:
            return await ask(method, url, headers, body=body, json=json)
        finally:
            await hub().close()

    return asyncio.run(ask_and_close())


def events_of(body: bytes) -> list[tuple[int | None, dict[str, Any]]]:
    """The (id, event) pairs of an SSE body; comments and ``retry:`` are passed over.

    Without an id are the events of a prelude before its last one.
    """
    pairs: list[tuple[int | None, dict[str, Any]]] = []
    seq: int | None = None
    for line in body.decode().splitlines():
        if line.startswith("id: "):
            seq = int(line[4:])
        elif line.startswith("data: "):
            pairs.append((seq, json.loads(line[6:])))
    return pairs


async def never_opens(url: str, headers: Headers | None = None) -> bool:
    """Whether the host refuses a WebSocket before it is open."""
    socket = WebsocketCommunicator(
        application, url, headers=_raw({"host": HOST, **(headers or {})})
    )
    accepted, _ = await socket.connect(DEADLINE)
    return not accepted


async def watch(url: str, headers: Headers | None = None) -> tuple[list[dict[str, Any]], int]:
    """Everything a WebSocket sends, and the code it closes with."""
    socket = WebsocketCommunicator(
        application, url, headers=_raw({"host": HOST, **(headers or {})})
    )
    accepted, _ = await socket.connect(DEADLINE)
    assert accepted, "browsers see no status: a socket is accepted before it is refused"
    events: list[dict[str, Any]] = []
    while (message := await socket.receive_output(DEADLINE))["type"] == "websocket.send":
        events.append(json.loads(message["text"]))
    assert message["type"] == "websocket.close"
    await socket.wait(DEADLINE)
    return events, int(message.get("code", 1000))


def _dumps(value: Any) -> bytes:
    return json.dumps(value).encode()
