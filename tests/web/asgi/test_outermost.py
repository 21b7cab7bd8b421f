"""A stream that has begun goes on when the apps around it have returned."""

import asyncio
from contextlib import suppress
from contextvars import ContextVar
from typing import Any
from uuid import UUID

import pytest

from agui_host.protocol.errors import BadRequest
from agui_host.security import requester
from agui_host.web import sse
from agui_host.web.asgi_http import Request, endpoint
from agui_host.web.gated import Gated
from agui_host.web.outermost import Outermost
from agui_host.web.scope import App, Receive, Scope, Send
from tests.asgi import http_scope

WHO: ContextVar[str] = ContextVar("WHO", default="nobody")
HEADER = (b"x-around", b"seen")


class Around:
    """An app around another: adds a header, and notes what passes it, and when it returns."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.passed: list[str] = []
        self.returned = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def noting(message: Any) -> None:
            self.passed.append(message["type"])
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], HEADER]}
            await send(message)

        token = WHO.set("the caller")
        try:
            await self.app({**scope}, receive, noting)
        finally:
            WHO.reset(token)
            self.returned.set()


class Peer:
    """A client: what it was sent, and when it leaves."""

    def __init__(self, app: App) -> None:
        self.outbox: asyncio.Queue[Any] = asyncio.Queue()
        self.left = asyncio.Event()
        self.task = asyncio.create_task(app(http_scope("GET", "/"), self.receive, self.outbox.put))

    async def receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}


class Streaming:
    """A handler that begins a stream and sends one more piece when it may."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.goes_on, self.ended = asyncio.Event(), asyncio.Event()

    async def __call__(self, request: Request, send: Send) -> None:
        try:
            await sse.begin(send, [])
            request.set_apart()
            await self.goes_on.wait()
            if self.error is not None:
                raise self.error
            await sse.piece(send, WHO.get().encode(), 1, more=False)
        finally:
            self.ended.set()


async def whole(request: Request, send: Send) -> None:
    await sse.whole_answer(send, b"whole", [], stall=1)


async def refused(request: Request, send: Send) -> None:
    raise BadRequest


async def test_the_apps_around_return_and_see_no_later_message() -> None:
    handler = Streaming()
    around = Around(endpoint(handler))
    peer = Peer(Outermost(around))
    assert HEADER in (await peer.outbox.get())["headers"]
    await around.returned.wait()
    assert not peer.task.done()
    handler.goes_on.set()
    await peer.task
    assert (await peer.outbox.get())["body"] == b"the caller", "the context is the request's"
    assert around.passed == ["http.response.start"]


async def test_the_gate_counts_a_stream_until_its_end() -> None:
    """While others have streams open, a caller's starts rest."""
    handler = Streaming()

    async def known(request: Request, send: Send) -> None:
        requester.identified(UUID(int=1))
        await handler(request, send)

    gated = Gated(endpoint(known), lambda _: "read")
    around = Around(gated)
    peer = Peer(Outermost(around))
    await around.returned.wait()
    gate, _ = gated._gates[asyncio.get_running_loop()]
    assert (gate._busy, gate._open) == (0, 1)
    handler.goes_on.set()
    await peer.task
    assert (gate._busy, gate._open) == (0, 0)


@pytest.mark.parametrize(("handler", "status"), [(whole, 200), (refused, 400)])
async def test_an_answer_that_is_sent_whole_passes_them_all(handler: Any, status: int) -> None:
    gated = Gated(endpoint(handler), lambda _: "read")
    around = Around(gated)
    peer = Peer(Outermost(around))
    await peer.task
    gate, _ = gated._gates[asyncio.get_running_loop()]
    assert (gate._busy, gate._open) == (0, 0)
    assert (await peer.outbox.get())["status"] == status
    assert around.passed == ["http.response.start", "http.response.body"]


async def test_an_error_in_a_stream_reaches_the_server() -> None:
    handler = Streaming(ValueError("broken"))
    peer = Peer(Outermost(Around(endpoint(handler))))
    await peer.outbox.get()
    handler.goes_on.set()
    with pytest.raises(ValueError, match="broken"):
        await peer.task


async def test_a_server_that_cancels_a_request_ends_its_stream() -> None:
    handler = Streaming()
    around = Around(endpoint(handler))
    peer = Peer(Outermost(around))
    await around.returned.wait()
    peer.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await peer.task
    assert handler.ended.is_set()


async def test_a_server_that_cancels_a_request_before_its_answer_ends_its_handler() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def waiting(request: Request, send: Send) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    peer = Peer(Outermost(Around(endpoint(waiting))))
    await begun.wait()
    peer.task.cancel()
    with suppress(asyncio.CancelledError):
        await peer.task
    assert ended.is_set()
    assert peer.outbox.empty()
