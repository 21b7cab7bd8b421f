"""One socket, ``/ws/``, that reads many runs and comes back with a cursor for each."""

import contextlib
import json
from typing import Any

import websockets

from tests.histories.load.clients import BUSY, GONE, Clients, Reset
from tests.histories.load.readers import SILENT, NoSuchRun, Reader


def call(method: str, params: dict[str, Any], **more: object) -> str:
    """A frame of JSON-RPC."""
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more})


def reset_in(error: dict[str, Any], *, may_lose: bool) -> Reset | None:
    """The reset that the error of a subscription stands for."""
    data = error.get("data") or {}
    if data.get("code") == "reset":
        return Reset(data["details"]["epoch"], int(data["details"]["head"]))
    return NoSuchRun() if may_lose and data.get("code") == "not_found" else None


class _Part(Reader):
    """What the socket has of one run."""

    transport = "one-socket"


class OneSocket:
    """A program's only connection; ``close`` lets it end once its runs have ended."""

    def __init__(self, clients: Clients) -> None:
        self.clients = clients
        self.parts: dict[str, _Part] = {}
        self.closing = False
        self._socket: Any = None
        self._runs: dict[str, str] = {}

    async def subscribe(self, run: str) -> None:
        """Read a run from its first event, also if the socket is cut at this moment."""
        self.parts[run] = _Part(self.clients, run)
        if self._socket is not None:
            with contextlib.suppress(*GONE):
                await self._ask(run)

    async def close(self) -> None:
        self.closing = True
        if self._is_done() and self._socket is not None:
            await self._socket.close()

    def _is_done(self) -> bool:
        return self.closing and all(part.ended for part in self.parts.values())

    async def work(self) -> None:
        while not self._is_done():
            try:
                async with websockets.connect(
                    f"{self.clients.sockets}/ws/", additional_headers=self.clients.headers,
                    subprotocols=[websockets.Subprotocol("agui.host.v1")], max_size=None,
                    open_timeout=SILENT, ping_interval=SILENT, ping_timeout=SILENT, close_timeout=1,
                ) as socket:  # fmt: skip
                    await self._drive(socket)
            except GONE:
                pass
            self._socket = None
            if not self._is_done():
                await self.clients.pause()

    async def _drive(self, socket: Any) -> None:
        self._runs = {}
        for run, part in list(self.parts.items()):
            if not part.ended:
                await self._ask(run, socket)
        self._socket = socket
        async for text in socket:
            frame = json.loads(text)
            params = frame.get("params", {})
            match frame:
                case {"method": "event"}:
                    part = self.parts[params["run"]]
                    cursor = params.get("cursor", params["seq"])
                    part.take(params["seq"], json.dumps(params["event"]), cursor)
                    ack = {"subscription": params["subscription"], "seq": params["seq"]}
                    await socket.send(
                        json.dumps({"jsonrpc": "2.0", "method": "ack", "params": ack})
                    )
                case {"result": {"subscription": subscription}}:
                    self._runs[subscription] = frame["id"]
                case {"error": error}:
                    run = str(frame["id"])
                    if reset := reset_in(error, may_lose=self.clients.may_lose):
                        self.parts[run].begin_again(reset)
                    elif error["code"] not in BUSY:
                        self.clients.refused.append(f"one-socket of {run}: {error}")
                    await self._again(run)
                case {"method": "end"}:
                    run = self._runs[params["subscription"]]
                    if params["reason"] == "reset":
                        self.parts[run].begin_again(Reset(params["epoch"], params["head"]))
                    await self._again(run)
            if self._is_done():
                return

    async def _again(self, run: str) -> None:
        if self.parts[run].ended:
            return
        await self.clients.pause()
        await self._ask(run)

    async def _ask(self, run: str, socket: Any = None) -> None:
        part = self.parts[run]
        part.open()
        params = {"run": run, "after": part.place}
        await (socket or self._socket).send(call("run.subscribe", params, id=run))
