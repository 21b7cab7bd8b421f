"""A peer of the host socket: calls with their answers, and what comes without being called for."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from channels.testing import WebsocketCommunicator

from agui_host.web.asgi import application
from tests.asgi import DEADLINE, HOST, Headers


class Peer:
    """One open socket of the application, in this process."""

    def __init__(self, socket: WebsocketCommunicator) -> None:
        self.socket = socket
        self.notes: list[dict[str, Any]] = []
        self._ids = itertools.count(1)

    async def next(self) -> dict[str, Any]:
        """The next frame, of whatever kind."""
        return dict(json.loads(await self.socket.receive_from(DEADLINE)))

    async def call(self, method: str, **params: Any) -> Any:
        """The result of a request. Raises AssertionError for an error."""
        answer = await self.answer(method, **params)
        assert "result" in answer, answer
        return answer["result"]

    async def refused(self, method: str, **params: Any) -> str:
        """The API's code of the error that a request gets."""
        answer = await self.answer(method, **params)
        assert set(answer["error"]) == {"code", "message", "data"}, answer
        return str(answer["error"]["data"]["code"])

    async def answer(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a request; what comes before it is kept for ``note``."""
        number = next(self._ids)
        await self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while (frame := await self.next()).get("id") != number:
            assert frame.get("id", number) is not None, f"no request was read: {frame}"
            self.notes.append(frame)
        return frame

    async def notify(self, method: str, **params: Any) -> None:
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def send(self, value: Any) -> None:
        await self.socket.send_to(text_data=value if isinstance(value, str) else json.dumps(value))

    async def note(self, method: str | None = None) -> dict[str, Any]:
        """The next notification of that method; other ones stay."""
        for frame in self.notes:
            if method in (None, frame.get("method")):
                self.notes.remove(frame)
                return frame
        while method not in (None, (frame := await self.next()).get("method")):
            self.notes.append(frame)
        return frame

    async def params(self, method: str) -> dict[str, Any]:
        return dict((await self.note(method))["params"])

    async def until_end(self, subscription: str) -> tuple[list[tuple[int, Any]], str]:
        """The (seq, event) pairs of a subscription up to its end, and the reason of that."""
        events = []
        async with asyncio.timeout(3 * DEADLINE):  # pings come for ever
            while True:
                note = await self.note()
                params = note.get("params", {})
                if params.get("subscription") != subscription:
                    continue
                if note["method"] == "end":
                    return events, params["reason"]
                events.append((params["seq"], params["event"]))

    async def closed(self) -> int:
        """The code that the host closes with; what comes before is kept for ``note``."""
        while (message := await self.socket.receive_output(DEADLINE))["type"] == "websocket.send":
            self.notes.append(json.loads(message["text"]))
        await self.socket.wait(DEADLINE)
        return int(message.get("code", 1000))


@asynccontextmanager
async def calling(
    headers: Headers | None = None, *, url: str = "/ws/", subprotocols: list[str] | None = None
) -> AsyncIterator[Peer]:
    """A connected peer, which leaves at the end."""
    raw = {"host": HOST, **(headers or {})}
    socket = WebsocketCommunicator(
        application,
        url,
        headers=[(name.lower().encode(), value.encode("latin-1")) for name, value in raw.items()],
        subprotocols=subprotocols or [],
    )
    accepted, chosen = await socket.connect(DEADLINE)
    assert accepted, "browsers see no status: a socket is accepted before it is refused"
    peer = Peer(socket)
    peer.subprotocol = chosen  # type: ignore[attr-defined]
    try:
        yield peer
    finally:
        if not socket.future.done():
            await socket.disconnect(timeout=DEADLINE)
        async with asyncio.timeout(DEADLINE):
            await asyncio.wait([socket.future])
