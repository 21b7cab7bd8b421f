"""Remote agents for tests: servers on loopback that answer each request by a script of bytes."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Script = Callable[["Call"], Awaitable[None]]
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
IDS = {"threadId": "theirs", "runId": "theirs too"}
STARTED: dict[str, Any] = {"type": "RUN_STARTED", **IDS}
FINISHED: dict[str, Any] = {"type": "RUN_FINISHED", **IDS}


def text(words: str, id: str = "m1") -> list[dict[str, Any]]:
    """One message."""
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": words},
        {"type": "TEXT_MESSAGE_END", "messageId": id},
    ]


@dataclass
class Call:
    """One request to a peer, and the ways to answer it."""

    head: str
    body: bytes
    number: int
    peer: "Peer"
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter

    @property
    def input(self) -> Any:
        return json.loads(self.body)

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def chunk(self, data: bytes) -> None:
        await self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def events(self, *events: dict[str, Any]) -> None:
        for event in events:
            await self.chunk(b"data: " + json.dumps(event).encode() + b"\n\n")

    async def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        head = "\r\n".join([f"HTTP/1.1 {status} X", f"content-length: {len(body)}", *lines])
        await self.raw(head.encode() + b"\r\n\r\n" + body)

    async def gone(self) -> None:
        """Wait until the host has closed the connection."""
        while await self._reader.read(1000):
            pass
        self.peer.left.set()

    def reset(self) -> None:
        self._writer.transport.abort()


@dataclass
class Peer:
    """A server; ``calls`` are the requests it got, ``open`` its connections."""

    script: Script
    port: int = 0
    calls: list[Call] = field(default_factory=list)
    open: int = 0
    connections: int = 0
    left: asyncio.Event = field(default_factory=asyncio.Event)
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/agent"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self.tasks.add(task)
        self.open += 1
        self.connections += 1
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                size = head.lower().partition("content-length: ")[2].partition("\r\n")[0]
                body = await reader.readexactly(int(size or 0))
                call = Call(head, body, len(self.calls) + 1, self, reader, writer)
                self.calls.append(call)
                await self.script(call)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()


@asynccontextmanager
async def peer(script: Script) -> AsyncIterator[Peer]:
    """Serve; at the end every connection must have been closed by the host."""
    running = Peer(script)
    server = await asyncio.start_server(running.handle, "127.0.0.1", 0, limit=10_000_000)
    running.port = server.sockets[0].getsockname()[1]
    try:
        yield running
        for task in running.tasks:
            await asyncio.wait_for(task, 20)
        assert running.open == 0
    finally:
        server.close()
        for task in running.tasks:
            task.cancel()
