"""Readers of one run over the transports that carry its events as they are stored."""

import json
from collections.abc import AsyncIterator

import httpx
import websockets

from tests.histories.checker.lines import hash_of, seq_of
from tests.histories.checker.logs import TERMINAL
from tests.histories.load.clients import BUSY, GONE, Clients, Refused, Reset

NOT_FOUND, HISTORY_WENT_BACK = 4404, 4411
STREAM = {"Accept": "text/event-stream"}
SILENT = 4.0


class Left(Exception):
    """The reader has left on purpose."""


class Reader:
    """Reads a run to its end, however often it is cut, and writes down each event."""

    transport = ""

    def __init__(self, clients: Clients, run: str, after: int = 0) -> None:
        self.clients, self.run, self.after = clients, run, after
        self.cursor: int | str = 0
        self.name = clients.name(self.transport)
        self.ended = False
        self.leaves_at: int | None = None

    async def read(self) -> None:
        while not self.ended:
            self.open()
            try:
                await self.once()
            except (*GONE, Left, json.JSONDecodeError):
                pass  # also an answer that is cut in the middle
            except Reset as reset:
                self.begin_again(reset)
            except Refused as refused:
                self.clients.refused.append(f"{self.name} of {self.run}: {refused}")
            if not self.ended:
                await self.clients.pause()

    async def once(self) -> None:
        """One connection, to its end."""
        raise NotImplementedError

    @property
    def place(self) -> int | str:
        """The cursor to come back with: as the host gave it, or a number that was counted."""
        return self.cursor if seq_of(self.cursor) == self.after else self.after

    def write(self, kind: str, **members: object) -> None:
        self.clients.recording.write(kind, reader=self.name, run=self.run, **members)

    def open(self) -> None:
        self.write("open", transport=self.transport, after=self.after)

    def begin_again(self, reset: Reset) -> None:
        """With a run that is gone there is nothing to begin with."""
        self.write("reset", epoch=reset.epoch, head=reset.head)
        self.after = self.cursor = 0
        if isinstance(reset, NoSuchRun):
            self.ended = True
            self.write("leave")

    def take(self, seq: int, payload: str | bytes, cursor: int | str = 0) -> None:
        """An event, and the end after it if it is a terminal one."""
        self.write("event", seq=seq, hash=hash_of(payload))
        if self.ended:
            return  # what follows an end is for the checker
        if seq >= self.after:
            self.after, self.cursor = seq, cursor or self.cursor
        if json.loads(payload)["type"] in TERMINAL:
            self.ended = True
            self.write("end")
        elif self.leaves_at is not None and seq >= self.leaves_at:
            self.ended = True
            self.write("leave")
            raise Left


class NoSuchRun(Reset):
    """The run is gone: after an asynchronous failover that is how its reader is told."""


async def judge(answer: httpx.Response, clients: Clients) -> None:
    """A busy host is asked again; anything else but a success is written down."""
    if answer.status_code in BUSY:
        raise httpx.HTTPError(f"busy: {answer.status_code}")
    if answer.is_success:
        return
    error = json.loads(await answer.aread() or b"{}").get("error", {})
    if error.get("code") == "reset":
        raise Reset(error["details"]["epoch"], int(error["details"]["head"]))
    if answer.status_code == 404 and clients.may_lose:
        raise NoSuchRun
    raise Refused(answer.status_code, f"at {answer.url}: {error}")


async def frames(answer: httpx.Response) -> AsyncIterator[tuple[str, bytes]]:
    """The whole frames of a stream with an id: what a cut leaves of a frame is no frame.

    Raises Reset where the stream tells it.
    """
    rest = b""
    async for chunk in answer.aiter_raw():
        *whole, rest = (rest + chunk).split(b"\n\n")
        for frame in whole:
            fields = dict(line.split(b": ", 1) for line in frame.split(b"\n") if b": " in line)
            if fields.get(b"event") == b"reset":
                reset = json.loads(fields[b"data"])
                raise Reset(reset["epoch"], reset["head"])
            if b"id" in fields and b"data" in fields:
                yield fields[b"id"].decode(), fields[b"data"]


class Sse(Reader):
    """GET events, and back with Last-Event-ID."""

    transport = "sse"

    async def once(self) -> None:
        path = f"/api/v1/runs/{self.run}/events"
        headers = STREAM | {"Last-Event-ID": str(self.place)}
        async with (
            self.clients.http() as client,
            client.stream("GET", path, headers=headers) as answer,
        ):
            await judge(answer, self.clients)
            async for cursor, payload in frames(answer):
                self.take(seq_of(cursor), payload, cursor)


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
            try:
                async for text in socket:
                    seq += 1
                    self.take(seq, text)
            except websockets.ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else None
                if code == NOT_FOUND and self.clients.may_lose:
                    raise NoSuchRun from None
                if code == HISTORY_WENT_BACK:
                    raise Reset(None, self.after - 1) from None  # it names no head
                raise


class Pages(Reader):
    """JSON pages, asked for again and again."""

    transport = "pages"

    async def once(self) -> None:
        path = f"/api/v1/runs/{self.run}/events"
        async with self.clients.http() as client:
            while not self.ended:
                answer = await client.get(path, params={"after": self.place})
                await judge(answer, self.clients)
                page = answer.json()
                for row in page["events"]:
                    self.take(row["seq"], json.dumps(row["event"]))
                self.cursor = page["after"]
                await self.clients.pause(0.2)


class DurableStream(Reader):
    """Durable Streams' long poll: arrays, and an offset in a header."""

    transport = "durable"

    @property
    def offset(self) -> str:
        if not self.after:
            return "-1"
        place = self.place
        return place if isinstance(place, str) else f"{place:016d}"

    async def once(self) -> None:
        path = f"/api/v1/runs/{self.run}/stream"
        timeout = httpx.Timeout(40, connect=3)
        async with self.clients.http() as client:
            while not self.ended:
                params = {"offset": self.offset, "live": "long-poll"}
                answer = await client.get(path, params=params, timeout=timeout)
                await judge(answer, self.clients)
                seq = self.after
                for event in answer.json() if answer.content else []:
                    seq += 1
                    self.take(seq, json.dumps(event))
                self.cursor = answer.headers["stream-next-offset"]
                if answer.headers.get("stream-closed") == "true" and not answer.content:
                    return


class ServerSentStream(DurableStream):
    """Durable Streams' live mode over server-sent events."""

    transport = "durable-sse"

    async def once(self) -> None:
        path = f"/api/v1/runs/{self.run}/stream"
        async with self.clients.http() as client:
            params = {"offset": self.offset, "live": "sse"}
            async with client.stream("GET", path, params=params, headers=STREAM) as answer:
                await judge(answer, self.clients)
                rest = b""
                async for chunk in answer.aiter_raw():
                    *whole, rest = (rest + chunk).split(b"\n\n")
                    for frame in whole:
                        self._frame(frame.decode())

    def _frame(self, frame: str) -> None:
        lines = frame.split("\n")
        kind = next((line for line in lines if line.startswith("event: ")), "")
        if not kind:
            return
        content = json.loads("".join(line[5:].strip() for line in lines if line[:5] == "data:"))
        if kind == "event: reset":
            raise Reset(content["epoch"], content["head"])
        if kind == "event: control":
            self.cursor = content["streamNextOffset"]
            return
        seq = self.after
        for event in content:
            seq += 1
            self.take(seq, json.dumps(event))


ONE_RUN: list[type[Reader]] = [Sse, Socket, Pages, DurableStream, ServerSentStream]
