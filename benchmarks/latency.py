"""How late events arrive, over real processes and SSE.

1. emit → received at 50 runs × 20 events/s: p50 ≤ 12 ms, p99 ≤ 30 ms (docs/adr/0017);
2. POST → first event on an idle host: p50 ≤ 30 ms;
3. the next run of a thread starts ≤ 50 ms after its predecessor ended (p50).

The scripted agent writes its clock into each delta; reader and host share the machine's clock.
"""

import asyncio
import itertools
import time
from datetime import datetime

import httpx

from benchmarks.report import keep, percentile
from tests.acceptance.host import Host
from tests.acceptance.readers import open_client
from tests.conftest import own_data_dir

RUNS, RATE, SECONDS = 50, 20, 20
POSTS, FOLLOWERS = 40, 20


async def read_delays(client: httpx.AsyncClient, run_id: str) -> list[float]:
    """Milliseconds between emission and arrival of each delta that was emitted to this reader.

    What was emitted before the stream was open is a replay, however long that took to begin.
    """
    delays: list[float] = []
    headers = {"Accept": "text/event-stream"}
    rest = b""
    async with client.stream("GET", f"/api/v1/runs/{run_id}/events", headers=headers) as answer:
        opened = time.time()
        async for chunk in answer.aiter_raw():
            now = time.time()
            *frames, rest = (rest + chunk).split(b"\n\n")
            for frame in frames:
                if b'"delta":"' in frame:
                    emitted = float(frame.split(b'"delta":"', 1)[1].split(b" ", 1)[0])
                    if emitted >= opened:
                        delays.append((now - emitted) * 1000)
    return delays


async def many_runs(host: Host) -> list[float]:
    script = [{"sleep": 2}, {"text": "", "n": RATE * SECONDS, "rate": RATE}]
    async with open_client(host) as client:
        ids = [(await asyncio.to_thread(host.begin, script=script))["id"] for _ in range(RUNS)]
        per_run = await asyncio.gather(*(read_delays(client, run_id) for run_id in ids))
    return [delay for delays in per_run for delay in delays]


async def first_events(host: Host) -> list[float]:
    body = {"forwardedProps": {"script": [{"text": "hello"}]}}
    delays = []
    async with open_client(host) as client:
        for _ in range(POSTS):
            began = time.perf_counter()
            async with client.stream("POST", "/agui/agent/scripted/run", json=body) as answer:
                async for chunk in answer.aiter_raw():
                    if b"RUN_STARTED" in chunk:
                        delays.append((time.perf_counter() - began) * 1000)
    return delays


def next_runs(host: Host) -> list[float]:
    """Queue runs behind each other on one thread; the gaps between an end and the next start."""
    gaps = []
    script = [{"text": "", "n": 10, "rate": 50}]
    body = {"threadId": "one", "forwardedProps": {"script": script}, "onBusy": "enqueue"}
    runs = [host.begin(**body) for _ in range(FOLLOWERS)]  # type: ignore[arg-type]
    ended = [host.wait_status(run["id"], "succeeded", "failed") for run in runs]
    for before, after in itertools.pairwise(ended):
        gap = datetime.fromisoformat(after["started_at"]) - datetime.fromisoformat(
            before["ended_at"]
        )
        gaps.append(gap.total_seconds() * 1000)
    return gaps


def verdict(value: float, limit: float) -> str:
    return f"{value:>7.1f} ms   promise {limit:g} ms: {'kept' if value <= limit else 'BROKEN'}"


def main() -> None:
    with own_data_dir() as data:
        host = Host(data)
        try:
            host.start(fsync=True)
            asyncio.run(first_events(host))  # warm up
            posts = asyncio.run(first_events(host))
            gaps = next_runs(host)
            delays = asyncio.run(many_runs(host))
        finally:
            host.stop()
    keep(
        "latency",
        [
            f"emit → received, {RUNS} runs × {RATE}/s, {len(delays)} deltas",
            f"  p50 {verdict(percentile(delays, 0.5), 12)}",
            f"  p99 {verdict(percentile(delays, 0.99), 30)}",
            f"POST → first event, {len(posts)} posts",
            f"  p50 {verdict(percentile(posts, 0.5), 30)}",
            f"  p99 {percentile(posts, 0.99):>7.1f} ms",
            f"end of a run → start of the next on its thread, {len(gaps)} gaps",
            f"  p50 {verdict(percentile(gaps, 0.5), 50)}",
            f"  max {max(gaps):>7.1f} ms",
        ],
    )


if __name__ == "__main__":
    main()
