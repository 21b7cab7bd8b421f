"""Readers of the team's feed over ``/ws/``, which come back with the cursor of the last entry."""

import asyncio
import json
from typing import Any

import websockets

from tests.histories.load.clients import BUSY, GONE, Clients, Reset
from tests.histories.load.one_socket import call, reset_in
from tests.histories.load.readers import SILENT

QUIET = 4.0
"""Seconds without an entry after which a reader of the whole feed has everything."""


class Feed:
    """Reads until ``stop``, or with ``whole`` until nothing comes any more."""

    def __init__(self, clients: Clients, after: int | None, *, whole: bool = False) -> None:
        self.clients, self.after, self.whole = clients, after, whole
        self.name = clients.name("feed")
        self.stopping = False
        self.entries = 0

    async def read(self) -> None:
        done = False
        while not done and not self.stopping:
            try:
                async with websockets.connect(
                    f"{self.clients.sockets}/ws/", additional_headers=self.clients.headers,
                    subprotocols=[websockets.Subprotocol("agui.host.v1")], max_size=None,
                    open_timeout=SILENT, ping_interval=SILENT, ping_timeout=SILENT, close_timeout=1,
                ) as socket:  # fmt: skip
                    done = await self._drive(socket)
            except GONE:
                pass
            if not done and not self.stopping:
                await self.clients.pause()

    async def _drive(self, socket: Any) -> bool:
        params = {} if self.after is None else {"after": self.after}
        await socket.send(call("team.subscribe", params, id=1))
        answer = json.loads(await socket.recv())
        if "error" in answer:
            if reset := reset_in(answer["error"], may_lose=False):
                self._begin_again(reset)
            elif answer["error"]["code"] not in BUSY:
                self.clients.refused.append(f"{self.name}: {answer}")
            return False
        if self.after is None:
            self.after = answer["result"]["cursor"]
        self.clients.recording.write("watch", reader=self.name, after=self.after)
        quiet = 0.0
        while not self.stopping:
            try:
                async with asyncio.timeout(0.5):
                    frame = json.loads(await socket.recv())
            except TimeoutError:
                quiet += 0.5
                if self.whole and quiet >= QUIET:
                    return True
                continue
            if frame.get("method") == "feed":
                quiet = 0.0
                await self._take(socket, frame["params"])
            elif frame.get("method") == "end" and frame["params"]["reason"] == "reset":
                self._begin_again(Reset(frame["params"]["epoch"], frame["params"]["head"]))
                return False
            elif frame.get("method") == "end" or "error" in frame:
                self.clients.refused.append(f"{self.name}: {frame}")
                return False
        return True

    def _begin_again(self, reset: Reset) -> None:
        self.clients.recording.write(
            "reset", reader=self.name, run=None, epoch=reset.epoch, head=reset.head
        )
        self.after = 0

    async def _take(self, socket: Any, entry: dict[str, Any]) -> None:
        self.after = entry["cursor"]
        self.entries += 1
        self.clients.recording.write(
            "feed", reader=self.name, cursor=entry["cursor"], type=entry["type"],
            run=entry["run"], interrupt=entry.get("interrupt"),
        )  # fmt: skip
        ack = {"subscription": entry["subscription"], "cursor": entry["cursor"]}
        await socket.send(call("ack", ack))
