"""Readers that keep the bytes: what an SSE or WebSocket client of a run was really sent."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import httpx
import websockets

from tests.acceptance.host import Host

Way = Literal["last-event-id", "after", "socket"]


@dataclass
class Reading:
    """One reader: where it began, and the payloads it got."""

    after: int
    way: Way
    seqs: list[int] = field(default_factory=list)
    payloads: list[bytes] = field(default_factory=list)
    close_code: int | None = None
    status: int = 200

    def wrong(self, log: Sequence[bytes]) -> str | None:
        """What is not as it should be; None for a perfect reading."""
        expected = list(log[self.after :])
        if self.seqs != list(range(self.after + 1, len(log) + 1)):
            return f"{self.way} from {self.after}: seqs {self.seqs[:3]}…{self.seqs[-3:]}"
        return None if self.payloads == expected else f"{self.way} from {self.after}: payloads"


async def read(host: Host, client: httpx.AsyncClient, run_id: str, reading: Reading) -> Reading:
    """Read until the stream ends by itself."""
    if reading.way == "socket":
        await _socket(host, run_id, reading)
    else:
        await _sse(client, run_id, reading)
    return reading


async def _sse(client: httpx.AsyncClient, run_id: str, reading: Reading) -> None:
    headers = {"Accept": "text/event-stream"}
    params = {}
    if reading.way == "last-event-id":
        headers["Last-Event-ID"] = str(reading.after)
    else:
        params["after"] = str(reading.after)
    chunks = []
    url = f"/api/v1/runs/{run_id}/events"
    async with client.stream("GET", url, headers=headers, params=params) as answer:
        reading.status = answer.status_code
        async for chunk in answer.aiter_raw():
            chunks.append(chunk)
    for frame in b"".join(chunks).split(b"\n\n"):
        head, data, payload = frame.partition(b"\ndata: ")
        if data:
            reading.seqs.append(int(head.rpartition(b"id: ")[2]))
            reading.payloads.append(payload)


async def _socket(host: Host, run_id: str, reading: Reading) -> None:
    url = f"{host.url.replace('http', 'ws', 1)}/ws/runs/{run_id}/?after={reading.after}"
    async with websockets.connect(
        url,
        additional_headers=host.headers,
        max_size=None,
        compression=None,
        open_timeout=60,
        ping_interval=None,  # five hundred readers share this process: it is no judge of silence
    ) as socket:
        try:
            async for text in socket:
                assert isinstance(text, str)
                reading.seqs.append(reading.after + 1 + len(reading.seqs))
                reading.payloads.append(text.encode())
        except websockets.ConnectionClosedError:
            pass
        reading.close_code = socket.close_code


def open_client(host: Host) -> httpx.AsyncClient:
    """A client that can hold a thousand streams."""
    return httpx.AsyncClient(
        base_url=host.url,
        headers=host.headers,
        timeout=httpx.Timeout(120),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
    )


async def stored(client: httpx.AsyncClient, run_id: str) -> list[bytes]:
    """The log as it stands, as the bytes of each payload."""
    payloads: list[bytes] = []
    while True:
        answer = await client.get(f"/api/v1/runs/{run_id}/events", params={"after": len(payloads)})
        page = answer.json()["events"]
        if not page:
            return payloads
        raw = answer.content
        for item, following in zip(page, [*page[1:], None], strict=True):
            start = raw.index(b'{"seq":%d,"event":' % item["seq"])
            begin = start + len(b'{"seq":%d,"event":' % item["seq"])
            end = (
                raw.index(b',{"seq":%d,"event":' % following["seq"], begin)
                if following
                else raw.rindex(b'],"after":')
            )
            payloads.append(raw[begin : end - 1])


async def head_of(client: httpx.AsyncClient, run_id: str) -> int:
    """The newest seq."""
    return int((await client.get(f"/api/v1/runs/{run_id}")).json()["events"])


async def until_head(client: httpx.AsyncClient, run_id: str, seq: int) -> int:
    """Poll until the log has ``seq`` events; its head then."""
    while (head := await head_of(client, run_id)) < seq:
        await asyncio.sleep(0.02)
    return head
