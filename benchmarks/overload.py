"""What one team's flood of starts costs: the flood itself, and another team's open streams.

1. refused starts are answered within 200 ms (p99);
2. emit → received of the other team's streams: p99 ≤ 3 × that of the same host when idle.

``RATE`` and ``SECONDS`` of the environment make it longer or shorter than 300/s for 20 s. The
flood comes from a process of its own, which takes only processor time that is left: run it with
nothing beside it.
"""

import asyncio
import json
import multiprocessing
import os
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from urllib.parse import urlsplit

import httpx

from benchmarks.latency import read_delays, verdict
from benchmarks.neighbour import yield_to_the_host
from benchmarks.peers.clients import PATIENCE, request
from benchmarks.peers.servers import Server
from benchmarks.report import keep, percentile
from tests.acceptance.host import Host
from tests.acceptance.revoking import House, house_of, seed
from tests.conftest import own_data_dir

AS_SHIPPED = {"AGUI_REQUEST_WAIT": "10"}
"""The tests' own host waits longer before it refuses."""
RATE, SECONDS = int(os.environ.get("RATE", "300")), int(os.environ.get("SECONDS", "20"))
STREAMS, EVENTS = 10, 20  # open streams of the other team, events per second of each
HEAD_START = 2

Answered = tuple[int, float]


async def flood(url: str, headers: dict[str, str]) -> list[Answered]:
    """Starts at ``RATE`` per second, whatever comes back: status and milliseconds of each.

    By bare sockets: an HTTP client would keep a processor busy, and measure mostly itself.
    """
    body = {"agent": "scripted", "input": {"forwardedProps": {"script": [{"text": "hello"}]}}}
    port = urlsplit(url).port
    assert port
    server = Server("host", port, headers)
    content = request(server, "/api/v1/runs", json.dumps(body).encode())

    async def start() -> Answered:
        began = time.perf_counter()
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(content)
                line = await reader.readline()
                writer.close()
        except (OSError, TimeoutError):
            line = b""
        status = int(line.split()[1]) if line else 0
        return status, (time.perf_counter() - began) * 1000

    await start()  # the host knows the key's team from now on
    tasks, began = [], time.perf_counter()
    for number in range(RATE * SECONDS):
        tasks.append(asyncio.create_task(start()))
        await asyncio.sleep(max(0, began + number / RATE - time.perf_counter()))
    return await asyncio.gather(*tasks)


def flood_in_process(url: str, headers: dict[str, str]) -> list[Answered]:
    yield_to_the_host()  # the team brings machines of its own
    return asyncio.run(flood(url, headers))


async def delays(house: House, seconds: int) -> list[float]:
    """Emit → received of the house's streams for so long, in milliseconds."""
    script = [{"sleep": HEAD_START}, {"text": "", "n": EVENTS * seconds, "rate": EVENTS}]
    input = {"forwardedProps": {"script": script}}
    async with httpx.AsyncClient(
        base_url=house.host.url, headers=house.by_key("owner"), timeout=300
    ) as client:

        async def one() -> list[float]:
            started = await client.post("/api/v1/runs", json={"agent": "scripted", "input": input})
            return await read_delays(client, started.json()["id"])

        per_stream = await asyncio.gather(*(one() for _ in range(STREAMS)))
    return [delay for each in per_stream for delay in each]


async def measure(busy: House, quiet: House) -> tuple[list[float], list[float], list[Answered]]:
    await delays(quiet, HEAD_START)  # the first runs of a host are slower
    idle = await delays(quiet, SECONDS)
    attacked = asyncio.create_task(delays(quiet, SECONDS))
    await asyncio.sleep(HEAD_START)  # the streams are open when it begins
    loop, spawn = asyncio.get_running_loop(), multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as attacker:
        headers = busy.by_key("owner")
        answers = await loop.run_in_executor(attacker, flood_in_process, busy.host.url, headers)
    return idle, await attacked, answers


def main() -> None:
    with own_data_dir() as data:
        host = Host(data, AGUI_LIMIT_RUNS_PER_MINUTE="0", AGUI_LIMIT_QUEUED_RUNS="0", **AS_SHIPPED)
        try:
            host.start(fsync=True)
            teams = seed(host, ["busy", "quiet"])
            busy, quiet = (house_of(host, teams, name) for name in ("busy", "quiet"))
            idle, attacked, answers = asyncio.run(measure(busy, quiet))
            lines = host.log_of(host.web).count("\n")
        finally:
            host.stop()
    accepted = [milliseconds for status, milliseconds in answers if status == 202] or [0.0]
    refused = [milliseconds for status, milliseconds in answers if status != 202] or [0.0]
    before, during = percentile(idle, 0.99), percentile(attacked, 0.99)
    keep(
        "overload",
        [
            f"{len(answers)} starts at {RATE}/s: {dict(Counter(status for status, _ in answers))}",
            f"  accepted p50 {percentile(accepted, 0.5):>7.1f} ms",
            f"  accepted p99 {percentile(accepted, 0.99):>7.1f} ms",
            f"  refused p50 {percentile(refused, 0.5):>7.1f} ms",
            f"  refused p99 {verdict(percentile(refused, 0.99), 200)}",
            f"  the web process wrote {lines} lines of log",
            f"emit → received of {STREAMS} streams of another team",
            f"  idle     p50 {percentile(idle, 0.5):>7.1f} ms  p99 {before:.1f} ms",
            f"  attacked p50 {percentile(attacked, 0.5):>7.1f} ms",
            f"  attacked p99 {verdict(during, 3 * before)}  ({during / before:.1f} × idle)",
        ],
    )


if __name__ == "__main__":
    main()
