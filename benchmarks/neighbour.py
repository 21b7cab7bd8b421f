"""Team A starts and ends 16 runs at a time: what do the streams of team B feel?

1. p99 of B's emit → received under that load ≤ 5 × the idle p99 of the same run (50 ms are always
   allowed, 250 ms never);
2. the next run of a team (``concurrent_runs=1``) and of a thread starts ≤ 50 ms after the end
   before it (p50), idle and under that load.

What starts cost in processor time is felt here, too: on two cores they share those with everybody.
"""

import asyncio
import itertools
import multiprocessing
import os
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from benchmarks.latency import read_delays
from benchmarks.report import keep, percentile
from tests.acceptance.fairness import B_KEY, TEAM_B
from tests.acceptance.host import Host
from tests.conftest import own_data_dir

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized
    from multiprocessing.synchronize import Event

STARTERS, STREAMS, RATE, SECONDS, FOLLOWERS = 16, 8, 20, 15, 15
C_KEY = "one-at-a-time-key-of-the-neighbours-001"
TEAM_C = TEAM_B.replace(B_KEY, C_KEY).replace('slug="b", name="B"', 'slug="c", name="C"') + (
    "from agui_host.teams.models import TeamLimits\n"
    "TeamLimits.objects.create(team=team, concurrent_runs=1)\n"
)
SHORT = {"forwardedProps": {"script": [{"text": "x", "n": 3}]}}


def client(url: str, key: str) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=100)
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=60, limits=limits)


async def begin(to: httpx.AsyncClient, **body: object) -> str:
    posted = {"agent": "scripted", **body}
    answer = await to.post("/api/v1/runs", json=posted)
    answer.raise_for_status()
    return str(answer.json()["id"])


async def streams(host: Host) -> list[float]:
    """The delays of B's events, in milliseconds."""
    script = [{"sleep": 2}, {"text": "", "n": RATE * SECONDS, "rate": RATE}]
    async with client(host.url, B_KEY) as b:
        ids = [await begin(b, input={"forwardedProps": {"script": script}}) for _ in range(STREAMS)]
        delays = await asyncio.gather(*(read_delays(b, run_id) for run_id in ids))
    return [delay for each in delays for delay in each]


async def gaps(host: Host, key: str, **same: str) -> list[float]:
    """Milliseconds from each end to the next start, of runs that wait for each other."""
    script = [{"text": "", "n": 10, "rate": 50}]
    body = {**same, "forwardedProps": {"script": script}}
    async with client(host.url, key) as team:
        ids = [await begin(team, input=body, on_busy="enqueue") for _ in range(FOLLOWERS)]
        rows = []
        for run_id in ids:
            while not (row := (await team.get(f"/api/v1/runs/{run_id}")).json())["ended_at"]:
                await asyncio.sleep(0.2)
            rows.append(row)

    def between(end: str, start: str) -> float:
        delta = datetime.fromisoformat(start) - datetime.fromisoformat(end)
        return delta.total_seconds() * 1000

    return [between(a["ended_at"], b["started_at"]) for a, b in itertools.pairwise(rows)]


def yield_to_the_host() -> None:
    """Let this process have only what the host leaves: its load would come from other machines.

    A kernel that groups the processes of a session compares groups first, so it has a group too.
    """
    with suppress(PermissionError):  # It leads a session already.
        os.setsid()
    os.nice(19)
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text("19")


def attack(url: str, key: str, done: "Event", ended: "Synchronized[int]") -> None:
    """The load, in a process of its own: team A brings machines of its own."""
    yield_to_the_host()
    asyncio.run(_attack(url, key, done, ended))


async def _attack(url: str, key: str, done: "Event", ended: "Synchronized[int]") -> None:
    async with client(url, key) as a:
        await asyncio.gather(*(_starter(a, done, ended) for _ in range(STARTERS)))


async def _starter(a: httpx.AsyncClient, done: "Event", ended: "Synchronized[int]") -> None:
    while not done.is_set():
        answer = await a.post("/api/v1/runs?wait=20", json={"agent": "scripted", "input": SHORT})
        ended.value += answer.status_code == 200


async def measure(host: Host) -> tuple[list[float], list[float], list[float]]:
    delays = await streams(host)
    return delays, await gaps(host, C_KEY), await gaps(host, B_KEY, threadId="one")


async def both(host: Host) -> list[str]:
    async with client(host.url, host.key) as a:
        await begin(a, input=SHORT)
    await gaps(host, B_KEY)  # warm up: the first runs of a host are slower
    idle = await measure(host)
    spawn = multiprocessing.get_context("spawn")
    done, ended = spawn.Event(), spawn.Value("l", 0)
    attacker = spawn.Process(target=attack, args=(host.url, host.key, done, ended))
    attacker.start()
    try:
        while not ended.value and attacker.is_alive():
            await asyncio.sleep(0.1)
        began, before = time.monotonic(), ended.value
        loaded = await measure(host)
        rate = (ended.value - before) / (time.monotonic() - began)
    finally:
        done.set()
        await asyncio.to_thread(attacker.join, 60)
    assert attacker.exitcode == 0, "the load ended early"
    return lines(idle, loaded, rate)


def lines(idle: tuple[list[float], ...], loaded: tuple[list[float], ...], rate: float) -> list[str]:
    before, after = (percentile(each[0], 0.99) for each in (idle, loaded))
    allowed = min(250.0, max(50.0, 5 * before))
    report = [f"A: {STARTERS} runs at a time, {rate:.0f} ends/s; B: {STREAMS} streams × {RATE}/s"]
    for name, part in (("idle", idle), ("under load", loaded)):
        report += [
            f"{name}",
            f"  B emit → received      p50 {percentile(part[0], 0.5):7.1f}"
            f"  p99 {percentile(part[0], 0.99):7.1f} ms",
            f"  next run of a team     p50 {percentile(part[1], 0.5):7.1f}"
            f"  p95 {percentile(part[1], 0.95):7.1f} ms",
            f"  next run of a thread   p50 {percentile(part[2], 0.5):7.1f}"
            f"  p95 {percentile(part[2], 0.95):7.1f} ms",
        ]
    verdict = "kept" if after <= allowed else "BROKEN"
    return [*report, f"p99 × {after / before:.1f}; allowed {allowed:.0f} ms: {verdict}"]


def main() -> None:
    with own_data_dir() as data:
        host = Host(data, AGUI_LIMIT_RUNS_PER_MINUTE="0")
        try:
            host.start(fsync=True)
            host.python(TEAM_B)
            host.python(TEAM_C)
            report = asyncio.run(both(host))
        finally:
            host.stop()
    keep("neighbour", report)


if __name__ == "__main__":
    main()
