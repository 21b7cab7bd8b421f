"""How late an event arrives at 1,000 events/s, beside the least that makes it as durable.

The host: 50 runs of 20 deltas/s, each with a reader over SSE, from emission to arrival. Beside it,
on the same PostgreSQL and Valkey: a bare commit of what has come since the last one, a publish, and
a socket (``bare.py``). In turns; the p99 of the host may be three times as long.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import time

from benchmarks.latency import read_delays
from benchmarks.report import keep, percentile
from tests.acceptance.host import ROOT, Host, free_port
from tests.acceptance.readers import open_client
from tests.conftest import own_data_dir

RUNS, RATE = 50, 20
SECONDS, ROUNDS = int(os.environ.get("STREAM_SECONDS", "15")), 3
PROMISE = 3.0


async def through_host(host: Host) -> list[float]:
    """Milliseconds of each delta from the agent to its reader."""
    script = [{"sleep": 2}, {"text": "", "n": RATE * SECONDS, "rate": RATE}]
    async with open_client(host) as client:
        ids = [(await asyncio.to_thread(host.begin, script=script))["id"] for _ in range(RUNS)]
        per_run = await asyncio.gather(*(read_delays(client, run_id) for run_id in ids))
    return [delay for delays in per_run for delay in delays]


async def through_socket(port: int) -> list[float]:
    """The same of the bare server."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    delays = []
    async for line in reader:
        emitted = float(line.split(b'"delta":"', 1)[1].split(b" ", 1)[0])
        delays.append((time.time() - emitted) * 1000)
    writer.close()
    return delays


def bare(host: Host) -> list[float]:
    """Writer and server in processes of their own, as the host's are."""
    port, command = free_port(), [sys.executable, "-m", "benchmarks.streams.bare"]
    serve = [*command, "serve", str(host.data), str(port)]
    write = [*command, "write", str(host.data), *map(str, (RUNS, RATE, SECONDS))]
    with subprocess.Popen(serve, cwd=ROOT, stdout=subprocess.PIPE) as server:
        assert server.stdout
        server.stdout.readline()

        async def both() -> list[float]:
            reading = asyncio.create_task(through_socket(port))
            await asyncio.to_thread(subprocess.run, write, cwd=ROOT, check=True)
            return await reading

        return asyncio.run(both())


def main() -> None:
    with own_data_dir() as data:
        host = Host(data)
        try:
            host.start(fsync=True)
            asyncio.run(through_host(host))  # warm up
            turns = [(asyncio.run(through_host(host)), bare(host)) for _ in range(ROUNDS)]
        finally:
            host.stop()
    lines, rows = [], []
    for share, must in ((0.5, None), (0.99, PROMISE)):
        ours, least = (
            statistics.median(percentile(turn[side], share) for turn in turns) for side in (0, 1)
        )
        verdict = "" if must is None else f"   must ≤ {must:g}: {_verdict(ours / least <= must)}"
        lines.append(
            f"p{share * 100:.0f}: host {ours:>6.1f} ms, bare {least:>6.1f} ms"
            f"   ratio {ours / least:.2f}{verdict}"
        )
        row = {"row": f"p{share * 100:.0f}", "host_ms": round(ours, 2), "bare_ms": round(least, 2)}
        rows.append({**row, "ratio": round(ours / least, 2), "must": must})
    number = sum(len(ours) for ours, _ in turns)
    head = f"emit → received, {RUNS} runs × {RATE}/s, {ROUNDS} turns, {number} deltas"
    keep("commit_and_publish", [head, *lines], rows)


def _verdict(reached: bool) -> str:
    return "reached" if reached else "MISSED"


if __name__ == "__main__":
    main()
