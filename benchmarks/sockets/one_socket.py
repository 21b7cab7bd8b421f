"""One socket with 500 subscriptions, one of them a flood: how late the other 499 are.

Delays are from the moment an agent makes an event to its arrival at the client. The same is
measured without the flood, and beside it on a second socket that reads a tenth of the same runs and
no flood: what that one is late is due to the worker, PostgreSQL and the machine. Memory is what the
web process gains with the subscriptions.
"""

import asyncio
import itertools
import json
import os
import time
from typing import Any

import websockets

from benchmarks.report import keep, percentile
from tests.acceptance.host import Host, cpu_and_memory
from tests.conftest import own_data_dir

RUNS = int(os.environ.get("BENCH_RUNS", "500"))
FLOOD = int(os.environ.get("BENCH_FLOOD", "5000"))
SECONDS = 20
EVERY = 4.0
"""Seconds between two events of a quiet run."""


class Client:
    """One socket; the delays of quiet events, and the number of the flood's."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.delays: list[float] = []
        self.flooded = 0
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._flood = ""

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._ids)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        await self.socket.send(json.dumps(frame))
        return await answer

    async def begin(self, script: list[dict[str, Any]], *, flood: bool = False) -> str:
        input = {"forwardedProps": {"script": script}}
        result = await self.call("run.start", agent="scripted", input=input)
        run = str(result["run"]["id"])
        if flood:
            self._flood = run
        return run

    async def read(self) -> None:
        async for text in self.socket:
            now, frame = time.time(), json.loads(text)
            if "id" in frame:
                self._answers.pop(frame["id"]).set_result(frame["result"])
            elif frame["method"] == "event":
                await self._event(now, frame["params"])

    async def _event(self, now: float, params: dict[str, Any]) -> None:
        delta = params["event"].get("delta", "")
        if params["run"] == self._flood:
            self.flooded += 1
            if self.flooded % 100 == 0:
                ack = {"subscription": params["subscription"], "seq": params["seq"]}
                await self.socket.send(
                    json.dumps({"jsonrpc": "2.0", "method": "ack", "params": ack})
                )
        elif delta:
            self.delays.append(now - float(delta.split()[0]))


async def measure(host: Host) -> list[str]:
    url = host.url.replace("http", "ws") + "/ws/"
    async with websockets.connect(url, additional_headers=host.headers, max_size=None) as socket:
        client = Client(socket)
        reading = asyncio.create_task(client.read())
        quiet = [{"text": "q", "n": 10_000, "rate": 1 / EVERY}]
        runs = await asyncio.gather(*(client.begin(quiet) for _ in range(RUNS - 1)))
        await asyncio.to_thread(host.wait_status, runs[-1], "running")
        await asyncio.sleep(5)
        before = _memory(host)
        await asyncio.gather(*(client.call("run.subscribe", run=run) for run in runs))
        await asyncio.sleep(5)
        gained = (_memory(host) - before) / len(runs) / 1024
        calm = await _delays(client)
        flood = [{"text": "f", "n": FLOOD * (SECONDS + 20), "rate": FLOOD}]
        run = await client.begin(flood, flood=True)
        await client.call("run.subscribe", run=run, window=2_000)
        await asyncio.sleep(3)
        async with websockets.connect(url, additional_headers=host.headers) as second:
            other = Client(second)
            reading_too = asyncio.create_task(other.read())
            tenth = runs[:: max(1, RUNS // 50)]
            heads = await asyncio.to_thread(lambda: [host.run(each)["events"] for each in tenth])
            for each, head in zip(tenth, heads, strict=True):
                await other.call("run.subscribe", run=each, after=head)
            await asyncio.sleep(2)
            began, count = time.monotonic(), client.flooded
            beside, apart = await asyncio.gather(_delays(client), _delays(other))
            rate = (client.flooded - count) / (time.monotonic() - began)
            reading_too.cancel()
        reading.cancel()
    return [
        f"{RUNS} subscriptions of one socket, an event every {EVERY:g} s in each",
        f"memory of the web process: {gained:.1f} KB per subscription",
        f"without a flood: {calm}",
        f"beside a flood of {rate:,.0f} events/s (asked for: {FLOOD:,}): {beside}",
        f"at the same time on a socket of their own: {apart}",
    ]


async def _delays(client: Client) -> str:
    client.delays.clear()
    await asyncio.sleep(SECONDS)
    delays = [delay * 1000 for delay in client.delays]
    p50, p99 = percentile(delays, 0.5), percentile(delays, 0.99)
    return f"{len(delays)} events, p50 {p50:.1f} ms, p99 {p99:.1f} ms, max {max(delays):.1f} ms"


def _memory(host: Host) -> int:
    assert host.web.process
    return cpu_and_memory(host.web.process.pid)[1]


def main() -> None:
    limits = {"EVENTS_PER_SECOND": "0", "CONCURRENT_RUNS": "0", "RUNS_PER_MINUTE": "0"}
    with own_data_dir() as data:
        host = Host(
            data,
            AGUI_WORKER_CONCURRENCY=str(RUNS + 10),
            **{f"AGUI_LIMIT_{name}": value for name, value in limits.items()},
        )
        try:
            host.start(fsync=True)
            lines = asyncio.run(measure(host))
        finally:
            host.stop()
    keep("one_socket", lines)


if __name__ == "__main__":
    main()
