"""The least that a durable stream needs: commit, publish, a socket. Two processes, as a host has.

    python -m benchmarks.streams.bare write DATA RUNS RATE SECONDS
    python -m benchmarks.streams.bare serve DATA PORT

The writer emits as the scripted agent does, and commits what has come since its last commit; the
server passes on what is published.
"""

import asyncio
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

import psycopg
import redis.asyncio

from agui_host.embedded import embedded

CHANNEL = "bare"
CREATE = "create table if not exists bare_event (run uuid, seq int4, at timestamptz, payload text)"
COPY = "copy bare_event (run, seq, at, payload) from stdin (format binary)"


async def write(data: Path, runs: int, rate: int, seconds: int) -> None:
    """Emit, commit, publish."""
    at = embedded.database(data)
    address = {"host": at["HOST"], "port": at["PORT"], "user": at["USER"], "dbname": at["NAME"]}
    valkey = redis.asyncio.Redis.from_url(embedded.valkey_url(data))
    waiting: list[tuple[uuid.UUID, int, str]] = []
    news = asyncio.Event()

    async def emit(run: uuid.UUID) -> None:
        began = time.time()
        for index in range(rate * seconds):
            if (early := began + (index + 1) / rate - time.time()) > 0:
                await asyncio.sleep(early)
            waiting.append((run, index, f'{{"delta":"{time.time():.6f} {index}"}}'))
            news.set()

    async with await psycopg.AsyncConnection.connect(**address) as link:
        await link.execute(CREATE)
        await link.commit()
        emitting = asyncio.gather(*(emit(uuid.uuid4()) for _ in range(runs)))
        while waiting or not emitting.done():
            with suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), 1)
            news.clear()
            batch = waiting[:]
            waiting.clear()
            if not batch:
                continue
            async with link.cursor() as cursor, cursor.copy(COPY) as copy:
                copy.set_types(["uuid", "int4", "timestamptz", "text"])
                for run, index, payload in batch:
                    await copy.write_row((run, index, None, payload))
            await link.commit()
            await valkey.publish(CHANNEL, "\n".join(payload for _, _, payload in batch))
    await valkey.publish(CHANNEL, "end")


async def serve(data: Path, port: int) -> None:
    """One reader, who gets a line for each event."""
    valkey = redis.asyncio.Redis.from_url(embedded.valkey_url(data))
    subscription = valkey.pubsub()
    await subscription.subscribe(CHANNEL)
    over = asyncio.Event()

    async def pass_on(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async for message in subscription.listen():
            if message["type"] == "message":
                if message["data"] == b"end":
                    break
                writer.write(message["data"] + b"\n")
        writer.close()
        over.set()

    async with await asyncio.start_server(pass_on, "127.0.0.1", port):
        print("ready", flush=True)
        await over.wait()


def main() -> None:
    job, data, *numbers = sys.argv[1:]
    jobs = {"write": write, "serve": serve}
    asyncio.run(jobs[job](Path(data), *map(int, numbers)))  # type: ignore[operator]


if __name__ == "__main__":
    main()
