"""Readers of one run over the transports that carry its events as they are stored."""

import json
from collections.abc import AsyncIterator

import httpx
import websockets

from tests.histories.checker.lines import hash_of
from tests.histories.checker.logs import TERMINAL
from tests.histories.load.clients import BUSY, GONE, Clients, Refused

STREAM = {"Accept": "text/event-stream"}
SILENT = 4.0


class Left(Exception):
    """The reader has left on purpose."""


class Reader:
    """Reads a run to its end, however often it is cut, and writes down each event."""

    transport = ""

    def __init__(self, clients: Clients, run: str, after: int = 0) -> None:
        self.clients, self.run, self.after = clients, run, after
        self.name = clients.name(self.transport)
        self.ended = False
        self.leaves_at: int | None = None

    async def read(self) -> None:
        while not self.ended:
            self.open()
            try:
                await self.once()
            except (*GONE, Left):
                pass
            except Refused as refused:
                self.clients.refused.append(f"{self.name} of {self.run}: {refused}")
            if not self.ended:
                await self.clients.pause()

    async def once(self) -> None:
        """One connection, to its end."""
        raise NotImplementedError

    def write(self, kind: str, **members: object) -> None:
        self.clients.recording.write(kind, reader=self.name, run=self.run, **members)

    def open(self) -> None:
        self.write("open", transport=self.transport, after=self.after)

    def take(self, seq: int, payload: str | bytes) -> None:
        """An event, and the end after it if it is a terminal one."""
        self.write("event", seq=seq, hash=hash_of(payload))
        if self.ended:
            return  # what follows an end is for the checker
        self.after = max(self.after, seq)
        if json.loads(payload)["type"] in TERMINAL:
            self.ended = True
            self.write("end")
        elif self.leaves_at is not None and seq >= self.leaves_at:
            self.ended = True
            self.write("leave")
            raise Left


def judge(answer: httpx.Response) -> None:
    """A busy host is asked again; anything else but a success is written down."""
    if answer.status_code in BUSY:
        raise httpx.HTTPError(f"busy: {answer.status_code}")
    if not answer.is_success:
        raise Refused(f"{answer.status_code} at {answer.url}")


async def frames(answer: httpx.Response) -> AsyncIterator[tuple[int, bytes]]:
    """The whole frames of a stream with an id: what a cut leaves of a frame is no frame."""
    rest = b""
    async for chunk in answer.aiter_raw():
        *whole, rest = (rest + chunk).split(b"\n\n")
        for frame in whole:
            fields = dict(line.split(b": ", 1) for line in frame.split(b"\n") if b": " in line)
            if b"id" in fields and b"data" in fields:
                # An epoch stands before the number where the host has one.
                yield int(fields[b"id"].rsplit(b"-", 1)[-1]), fields[b"data"]


class Sse(Reader):
    """GET events, and back with Last-Event-ID."""

    transport = "sse"

    async def once(self) -> None:
        path = f"/api/v1/runs/{self.run}/events"
        headers = STREAM | {"Last-Event-ID": str(self.after)}
        async with (
            self.clients.http() as client,
            client.stream("GET", path, headers=headers) as answer,
        ):
            judge(answer)
            async for seq, payload in frames(answer):
                self.take(seq, payload)


class Socket(Reader):
    """``/ws/runs/{id}/``: bare events, numbered by counting."""

    transport = "socket"

    async def once(self) -> None:
        url = f"{self.clients.sockets}/ws/runs/{self.run}/?after={self.after}"
        async with websockets.connect(
            url, additional_headers=self.clients.headers, max_size=None, open_timeout=SILENT,
            ping_interval=SILENT, ping_timeout=SILENT, close_timeout=1,
        ) as socket:  # fmt: skip
            seq = self.after
            async for text in socket:
                seq += 1
                self.take(seq, text)


class Pages(Reader):
    """JSON pages, asked for again and again."""

    transport = "pages"

    async def once(self) -> None:
        path = f"/api/v1/runs/{self.run}/events"
        async with self.clients.http() as client:
            while not self.ended:
                answer = await client.get(path, params={"after": self.after})
                judge(answer)
                for row in answer.json()["events"]:
                    self.take(row["seq"], json.dumps(row["event"]))
                await self.clients.pause(0.2)


class DurableStream(Reader):
    """Durable Streams' long poll: arrays, and an offset in a header."""

    transport = "durable"

    async def once(self) -> None:
        path = f"/api/v1/runs/{self.run}/stream"
        offset = f"{self.after:016d}" if self.after else "-1"
        timeout = httpx.Timeout(40, connect=3)
        async with self.clients.http() as client:
            while not self.ended:
                params = {"offset": offset, "live": "long-poll"}
                answer = await client.get(path, params=params, timeout=timeout)
                judge(answer)
                seq = self.after
                for event in answer.json() if answer.content else []:
                    seq += 1
                    self.take(seq, json.dumps(event))
                offset = answer.headers["stream-next-offset"]
                if answer.headers.get("stream-closed") == "true" and not answer.content:
                    return


class ServerSentStream(Reader):
    """Durable Streams' live mode over server-sent events."""

    transport = "durable-sse"

    async def once(self) -> None:
        path = f"/api/v1/runs/{self.run}/stream"
        offset = f"{self.after:016d}" if self.after else "-1"
        async with self.clients.http() as client:
            params = {"offset": offset, "live": "sse"}
            async with client.stream("GET", path, params=params, headers=STREAM) as answer:
                judge(answer)
                rest = b""
                async for chunk in answer.aiter_raw():
                    *whole, rest = (rest + chunk).split(b"\n\n")
                    for frame in whole:
                        self._frame(frame.decode())

    def _frame(self, frame: str) -> None:
        lines = frame.split("\n")
        if "event: data" not in lines:
            return
        data = "".join(line[5:].strip() for line in lines if line.startswith("data:"))
        seq = self.after
        for event in json.loads(data):
            seq += 1
            self.take(seq, json.dumps(event))


ONE_RUN: list[type[Reader]] = [Sse, Socket, Pages, DurableStream, ServerSentStream]
