"""A receiver of webhooks on a port of its own, and a worker's deliverer that calls it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from agui_host.backends.postgres.bridge import db
from runs.models import Webhook, WebhookDelivery
from runs.worker.deliveries import Deliverer
from tests.asgi import Headers, ask

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
BROKEN = b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n"
DEADLINE = 30.0


@dataclass(frozen=True)
class Message:
    """A request as it arrived; header names are lower-case."""

    headers: dict[str, str]
    body: bytes


class Receiver:
    """Answers each request with the next of ``answers``, and then with OK.

    An answer that is an Event is waited for before OK is sent.
    """

    def __init__(self, *answers: bytes | asyncio.Event) -> None:
        self.answers = list(answers)
        self.messages: list[Message] = []
        self.port = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._handle, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._writers):
            writer.close()
        await self._server.wait_closed()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[1:-2]
                pairs = (line.split(": ", 1) for line in head)
                headers = {name.lower(): value for name, value in pairs}
                body = await reader.readexactly(int(headers["content-length"]))
                self.messages.append(Message(headers, body))
                answer = self.answers.pop(0) if self.answers else OK
                if isinstance(answer, asyncio.Event):
                    await answer.wait()
                    answer = OK
                writer.write(answer)
                await writer.drain()
        self._writers.discard(writer)
        writer.close()


@asynccontextmanager
async def receiving(*answers: bytes | asyncio.Event) -> AsyncIterator[Receiver]:
    receiver = Receiver(*answers)
    await receiver.open()
    try:
        yield receiver
    finally:
        await receiver.close()


@asynccontextmanager
async def delivering() -> AsyncIterator[Deliverer]:
    """A worker's deliverer, at work."""
    deliverer = Deliverer()
    task = asyncio.create_task(deliverer.run())
    try:
        yield deliverer
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def hooked(headers: Headers, url: str, *events: str, **more: Any) -> dict[str, Any]:
    """A new webhook, as the API shows it this once."""
    body = {"url": url, "events": list(events), **more}
    answer = await ask("POST", "/api/v1/webhooks", headers, json=body)
    assert answer.status == 201, answer.body
    return dict(answer.json)


async def until(condition: Any) -> None:
    """Wait for a condition, which may be of the database."""
    async with asyncio.timeout(DEADLINE):
        while not await db(condition):
            await asyncio.sleep(0.02)


def rows(webhook: dict[str, Any] | None = None) -> list[WebhookDelivery]:
    """The deliveries, the oldest first."""
    matches = WebhookDelivery.objects.all().order_by("id")
    return list(matches.filter(webhook=webhook["id"]) if webhook else matches)


def row_of(webhook: dict[str, Any]) -> Webhook:
    matches: Webhook = Webhook.objects.get(pk=webhook["id"])
    return matches


def statuses(webhook: dict[str, Any] | None = None) -> list[str]:
    return [row.status for row in rows(webhook)]
