"""The floor: the least that a durable run needs. Two commits, two publishes, two processes.

    python -m benchmarks.durable.floor serve DATA PORT
    python -m benchmarks.durable.floor work DATA

``serve`` takes the request, commits a row for the run and publishes it; ``work`` hears that, says
the deltas, commits them and publishes them; ``serve`` hears that and answers. Each process commits
all that has come since its last commit at once. Nothing else is done: no key, no limit, no order
of a thread, no replay, no cancelling; a lost publish is never noticed, and a dead worker neither.
"""

import asyncio
import contextlib
import json
import sys
import uuid
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg
import redis.asyncio

from agui_host.embedded import embedded
from benchmarks.durable.peers import script

STARTED, SPOKEN = "floor-started", "floor-spoken"
TABLES = """
create table if not exists floor_run
(id uuid primary key, at timestamptz default now(), script text);
create table if not exists floor_event
(run uuid, seq int4, payload text, primary key (run, seq));
"""
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    b"Connection: close\r\n\r\n"
)
LAST_CHUNK = b"0\r\n\r\n"
END = "end"
Row = tuple[Any, ...]


class Writer:
    """Commits what has come since its last commit, and publishes it."""

    def __init__(self, data: Path, copy: str, types: list[str], channel: str) -> None:
        self.data, self.copy, self.types, self.channel = data, copy, types, channel
        self.waiting: list[tuple[Row, str]] = []
        self.news = asyncio.Event()

    def add(self, row: Row, message: str) -> None:
        """To be committed, and to be published then."""
        self.waiting.append((row, message))
        self.news.set()

    async def work(self) -> None:
        valkey = redis.asyncio.Redis.from_url(embedded.valkey_url(self.data))
        async with await connect(self.data) as link:
            while True:
                await self.news.wait()
                self.news.clear()
                batch, self.waiting = self.waiting, []
                if not batch:
                    continue
                async with link.cursor() as cursor, cursor.copy(self.copy) as copy:
                    copy.set_types(self.types)
                    for row, _ in batch:
                        await copy.write_row(row)
                await link.commit()
                await valkey.publish(self.channel, "\n".join(message for _, message in batch))


def frame(payload: str) -> bytes:
    """As server-sent event."""
    kind = b"event: end\ndata: {}" if payload == END else b"data: " + payload.encode()
    return kind + b"\n\n"


async def connect(data: Path) -> "psycopg.AsyncConnection[Row]":
    at = embedded.database(data)
    address = {"host": at["HOST"], "port": at["PORT"], "user": at["USER"], "dbname": at["NAME"]}
    return await psycopg.AsyncConnection.connect(**address)  # type: ignore[arg-type]


async def listen(data: Path, channel: str, hear: Callable[[list[str]], None]) -> None:
    """Pass on what is published."""
    subscription = redis.asyncio.Redis.from_url(embedded.valkey_url(data)).pubsub()
    await subscription.subscribe(channel)
    async for message in subscription.listen():
        if message["type"] == "message":
            hear(message["data"].decode().split("\n"))


async def serve(data: Path, port: int) -> None:
    """The web process."""
    async with await connect(data) as link:
        await link.execute(TABLES)
        await link.commit()
    copy = "copy floor_run (id, script) from stdin (format binary)"
    runs = Writer(data, copy, ["uuid", "text"], STARTED)
    readers: dict[str, asyncio.Queue[list[str]]] = {}

    def hear(lines: list[str]) -> None:
        by_run: defaultdict[str, list[str]] = defaultdict(list)
        for line in lines:
            run, _, payload = line.partition(" ")
            by_run[run].append(payload)
        for run, payloads in by_run.items():
            if run in readers:
                readers[run].put_nowait(payloads)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
        message, run = (await reader.readexactly(length)).decode(), uuid.uuid4()
        news = readers[str(run)] = asyncio.Queue()
        runs.add((run, message), f"{run} {message}")
        writer.write(HEAD)
        ended = False
        while not ended:
            payloads = await news.get()
            ended = payloads[-1] == END
            text = b"".join(map(frame, payloads))
            writer.write(f"{len(text):x}\r\n".encode() + text + b"\r\n" + LAST_CHUNK * ended)
        del readers[str(run)]
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", port, backlog=500):
        print("ready", flush=True)
        await asyncio.gather(listen(data, SPOKEN, hear), runs.work())


async def work(data: Path) -> None:
    """The worker."""
    copy = "copy floor_event (run, seq, payload) from stdin (format binary)"
    events = Writer(data, copy, ["uuid", "int4", "text"], SPOKEN)
    speaking: set[asyncio.Task[None]] = set()

    async def speak(run: str, message: str) -> None:
        seq = 0
        async for delta in script.deltas(message):
            seq += 1
            payload = json.dumps({"delta": delta})
            events.add((uuid.UUID(run), seq, payload), f"{run} {payload}")
            if seq % 100 == 0:
                await asyncio.sleep(0)
        events.add((uuid.UUID(run), seq + 1, END), f"{run} {END}")

    def hear(lines: list[str]) -> None:
        for line in lines:
            run, _, message = line.partition(" ")
            task = asyncio.create_task(speak(run, message))
            speaking.add(task)
            task.add_done_callback(speaking.discard)

    print("ready", flush=True)
    await asyncio.gather(listen(data, STARTED, hear), events.work())


def main() -> None:
    job, data, *numbers = sys.argv[1:]
    jobs: dict[str, Callable[..., Awaitable[None]]] = {"serve": serve, "work": work}
    asyncio.run(jobs[job](Path(data), *map(int, numbers)))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
