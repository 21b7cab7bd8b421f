"""How soon an agent has a message that was sent to its run: POST → ``ctx.inbox``, in the same runs
as emit → received and as a GET of the run.

The agent emits its clock when it reads a message, and an SSE reader notes when that arrives.
Senders and readers have a process each, with bare sockets: they share the host's processors, and a
client library would take as much of these as the host does. First the runs' senders write one
after another, as people do who know nothing of each other; then all at the same moment.
Everything shares the machine's clock.
"""

import asyncio
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from agui_host import RunContext, agent
from benchmarks.report import keep, percentile
from tests.acceptance.host import Host, cpu_and_memory
from tests.conftest import own_data_dir

RUNS, PAUSE = 10, 0.2
MESSAGES = int(os.environ.get("STEERING_MESSAGES", "60"))
PROMISE, OF_AN_EVENT = 50, 2
"""The p99 in milliseconds, and how many times as long as an event's way it can be instead."""
Moments = dict[str, tuple[float, float]]


@agent("clocked")
async def clocked(ctx: RunContext) -> None:
    last = ctx.forwarded_props["last"]
    async for message in ctx.inbox:
        ctx.custom("read", {"id": message.id, "at": time.time()})
        if message.id == last:
            return


class Place(NamedTuple):
    """Where the host is, and who asks."""

    host: str
    port: int
    key: str

    def request(self, method: str, path: str, body: bytes = b"", accept: str = "*/*") -> bytes:
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Authorization: Bearer {self.key}\r\nAccept: {accept}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


class Connection:
    """One that is kept alive."""

    def __init__(self, place: Place) -> None:
        self.place = place

    async def __aenter__(self) -> "Connection":
        self._in, self._out = await asyncio.open_connection(self.place.host, self.place.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._out.close()

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """The status and the body of the answer."""
        self._out.write(self.place.request(method, path, body))
        head = (await self._in.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        return int(head.split(b" ", 2)[1]), await self._in.readexactly(length)


async def read(place: Place, run: str) -> Moments:
    """When the agent has read each message, and when a reader has heard of it."""
    moments: Moments = {}
    reader, writer = await asyncio.open_connection(place.host, place.port)
    path = f"/api/v1/runs/{run}/events"
    writer.write(place.request("GET", path, accept="text/event-stream"))
    async for line in reader:
        if b'"name":"read"' in line:
            value = json.loads(line.split(b"data:", 1)[1])["value"]
            moments[value["id"]] = (value["at"], time.time())
        elif b'"RUN_FINISHED"' in line or b'"RUN_ERROR"' in line:
            break
    writer.close()
    return moments


async def read_all(place: Place, runs: list[str]) -> list[Moments]:
    return await asyncio.gather(*(read(place, run) for run in runs))


async def say(place: Place, run: str, after: float) -> tuple[Moments, dict[str, float]]:
    """When each message was sent and answered, and when its transaction began."""
    moments: Moments = {}
    due = time.time() + 1.0 + after
    path = f"/api/v1/runs/{run}/messages"
    async with Connection(place) as host:
        for number in range(MESSAGES):
            await asyncio.sleep(max(0.0, due - time.time()))
            body = {"id": f"m{number}", "role": "user", "content": "Only the last three years."}
            began = time.time()
            status, answer = await host.ask("POST", path, json.dumps(body).encode())
            assert status == 202, answer
            moments[f"m{number}"] = (began, time.time())
            due = max(due + PAUSE, time.time())
        rows = json.loads((await host.ask("GET", f"{path}?limit=200"))[1])["messages"]
    stored = {row["id"]: datetime.fromisoformat(row["created_at"]).timestamp() for row in rows}
    return moments, stored


async def get(place: Place, run: str, durations: list[float]) -> None:
    """Ask for the run again and again, until it is cancelled."""
    async with Connection(place) as host:
        while True:
            began = time.time()
            assert (await host.ask("GET", f"/api/v1/runs/{run}"))[0] == 200
            durations.append((time.time() - began) * 1000)
            await asyncio.sleep(PAUSE)


async def say_all(
    place: Place, runs: list[str], apart: float
) -> tuple[list[tuple[Moments, dict[str, float]]], list[float]]:
    """As ``say`` of each run, the first message of each so many seconds after the one before."""
    gets: list[float] = []
    getting = asyncio.create_task(get(place, runs[0], gets))
    talks = await asyncio.gather(*(say(place, run, n * apart) for n, run in enumerate(runs)))
    getting.cancel()
    return talks, gets


def in_process(act: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> Any:
    return asyncio.run(act(*args))


def measure(host: Host, apart: float) -> dict[str, list[float]]:
    """Milliseconds of each way."""
    address = urlsplit(host.url)
    place = Place(address.hostname or "", address.port or 0, host.key)
    last = f"m{MESSAGES - 1}"
    runs = [host.begin("clocked", forwardedProps={"last": last})["id"] for _ in range(RUNS)]
    spawn = multiprocessing.get_context("spawn")
    before = processor_seconds(host)
    with ProcessPoolExecutor(2, spawn) as processes:
        reading = processes.submit(in_process, read_all, place, runs)
        posting = processes.submit(in_process, say_all, place, runs, apart)
        (talks, gets), heard = posting.result(), reading.result()
    ways: dict[str, list[float]] = {
        "POST → ctx.inbox": [], "POST → transaction": [], "transaction → inbox": [],
        "POST → answer": [], "emit → received": [], "GET of a run": gets,
    }  # fmt: skip
    for name, seconds in processor_seconds(host).items():
        ways[name] = [1000 * (seconds - before[name]) / (RUNS * MESSAGES)]
    for (posts, stored), reads in zip(talks, heard, strict=True):
        assert posts.keys() == reads.keys(), (len(posts), len(reads))
        for id, (began, answered) in posts.items():
            at, arrived = reads[id]
            ways["POST → ctx.inbox"].append((at - began) * 1000)
            ways["POST → transaction"].append((stored[id] - began) * 1000)
            ways["transaction → inbox"].append((at - stored[id]) * 1000)
            ways["POST → answer"].append((answered - began) * 1000)
            ways["emit → received"].append((arrived - at) * 1000)
    return ways


def processor_seconds(host: Host) -> dict[str, float]:
    """Of the web process, which also answers the GETs, and of the worker."""
    jobs = {"processor, web": host.web, "processor, worker": host.worker}
    return {name: cpu_and_memory(job.process.pid)[0] for name, job in jobs.items() if job.process}


def lines(label: str, ways: dict[str, list[float]], promised: bool) -> list[str]:
    most = percentile(ways["POST → ctx.inbox"], 0.99)
    times = most / percentile(ways["emit → received"], 0.99)
    is_kept = most <= PROMISE or times <= OF_AN_EVENT
    verdict = f"; promise {PROMISE} ms or × {OF_AN_EVENT}: {'kept' if is_kept else 'BROKEN'}"
    return [
        f"{label}: {len(ways['POST → ctx.inbox'])} messages to {RUNS} runs",
        *(
            f"  {name:<20} p50 {percentile(values, 0.5):6.1f} ms"
            f"   p99 {percentile(values, 0.99):6.1f} ms"
            if len(values) > 1
            else f"  {name:<20}     {values[0]:6.1f} ms for a message"
            for name, values in ways.items()
        ),
        f"  p99 of a message × {times:.1f} that of an event{verdict * promised}",
    ]


def main() -> None:
    with own_data_dir() as data:
        host = Host(data, AGUI_AGENT_MODULES="benchmarks.streams.steering")
        try:
            host.start(fsync=True)
            measure(host, PAUSE / RUNS)  # warm up: the first requests of a host are slower
            spread, together = measure(host, PAUSE / RUNS), measure(host, 0.0)
        finally:
            host.stop()
    each = f"each run's sender writes every {PAUSE * 1000:g} ms"
    keep(
        "steering",
        [
            *lines(f"{each}, one after another", spread, promised=True),
            *lines(f"{each}, all at the same moment", together, promised=False),
        ],
    )


if __name__ == "__main__":
    main()
