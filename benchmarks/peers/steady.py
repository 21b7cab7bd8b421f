"""A steady rate of short runs, and all that follows them: search, calls of tools, a webhook.

``python -m benchmarks.peers.steady``: ``BENCH_RATE`` runs a second (100) for ``BENCH_SECONDS``
(600) on fresh threads, first for a tenth of the time without a webhook, then with one that answers
at once. The figures count until everything that follows the last run is done.
"""

import asyncio
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import psycopg

from agui_host.embedded import paths
from benchmarks.peers.clients import DELTA, FINISHED, LAST_CHUNK, PATH, request, run_input
from benchmarks.peers.servers import Server, this_host
from benchmarks.peers.start_profile import processes
from benchmarks.report import keep, percentile
from tests.acceptance.host import Host
from tests.soak.hooked import Arrivals, hooked

RATE = float(os.environ.get("BENCH_RATE", "100"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "600"))
PATIENCE = 60.0
LOOK = 5.0
AFTER = 600.0
"""Seconds in which everything that follows the last run is done."""
KEY = "metrics-of-a-benchmark-0123456789"
LAG = re.compile(r'^agui_chore_lag_seconds\{chore="(\w+)"\} (\S+)', re.MULTILINE)


@dataclass
class Stretch:
    """What came of a steady rate for a while."""

    firsts: list[float] = field(default_factory=list)
    failed: int = 0
    lags: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """The longest lag of each chore, in seconds."""


async def run(server: Server, stretch: Stretch) -> None:
    """One whole run."""
    began, first, answer = time.perf_counter(), 0.0, b""
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(request(server, PATH, run_input(1)))
            while not answer.endswith(LAST_CHUNK) and (piece := await reader.read(1 << 16)):
                answer += piece
                if not first and DELTA in answer:
                    first = time.perf_counter() - began
            writer.close()
    except OSError:
        pass
    if FINISHED in answer:
        stretch.firsts.append(first * 1000)
    else:
        stretch.failed += 1


async def look(host: Host, stretch: Stretch) -> dict[str, float]:
    """The lags of the chores now."""
    async with httpx.AsyncClient(timeout=PATIENCE) as client:
        headers = {"Authorization": f"Bearer {KEY}"}
        text = (await client.get(f"{host.url}/metrics", headers=headers)).text
    lags = {chore: float(seconds) for chore, seconds in LAG.findall(text)}
    assert lags, text[:500]
    for chore, seconds in lags.items():
        stretch.lags[chore] = max(stretch.lags[chore], seconds)
    return lags


async def steadily(host: Host, seconds: float) -> Stretch:
    """Start runs at the rate; return when the last one has ended."""
    stretch, server = Stretch(), Server("host", host.port, host.headers)
    began, looked_at = time.monotonic(), time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(round(seconds * RATE)):
            await asyncio.sleep(began + number / RATE - time.monotonic())
            group.create_task(run(server, stretch))
            if time.monotonic() - looked_at > LOOK:
                looked_at = time.monotonic()
                group.create_task(look(host, stretch))
    return stretch


async def done(host: Host, stretch: Stretch) -> float:
    """Seconds until nothing that follows the runs is left."""
    began = time.monotonic()
    async with asyncio.timeout(AFTER):
        while any(left(host).values()):
            await look(host, stretch)
            await asyncio.sleep(1.0)
    return time.monotonic() - began


def left(host: Host) -> dict[str, int]:
    """How many runs or messages wait for each follower."""
    counts = {
        "words": "select count(*) from runs_run run where not exists ("
        " select from runs_runwords w where w.run_id = run.journal_id and w.due = 0)",
        "webhook": "select count(*) from runs_webhookdelivery where status = 'pending'",
    }
    with psycopg.connect(host=str(paths.socket_dir(host.data)), user="postgres") as operator:
        return {name: operator.execute(text).fetchall()[0][0] for name, text in counts.items()}


def deliveries(host: Host, arrivals: Arrivals) -> list[float]:
    """Seconds from a run's end to its message."""
    with psycopg.connect(host=str(paths.socket_dir(host.data)), user="postgres") as operator:
        rows = operator.execute(
            "select journal_id::text, extract(epoch from ended_at) from runs_run"
        )
        ended = {run: float(at) for run, at in rows}
    return [max(0.0, at - ended[run]) for run, at in arrivals.at.items()]


def figures(host: Host) -> Iterator[str]:
    """A line for each figure."""
    asyncio.run(steadily(host, 10.0))
    alone = asyncio.run(steadily(host, SECONDS / 10))
    asyncio.run(done(host, alone))
    before = processes(host)
    with (
        httpx.Client(base_url=host.url, headers=host.headers) as client,
        hooked(client) as arrivals,
    ):
        stretch = asyncio.run(steadily(host, SECONDS))
        after_all = asyncio.run(done(host, stretch))
        late = deliveries(host, arrivals)
    after = processes(host)
    yield f"{RATE:.0f} runs a second for {SECONDS:.0f} s: {len(stretch.firsts)} ended"
    yield f"not ended or refused: {stretch.failed}; messages: {len(late)}"
    for name, each in (("without a webhook", alone), ("with a webhook", stretch)):
        p50, p99 = percentile(each.firsts, 0.5), percentile(each.firsts, 0.99)
        yield f"first delta {name}   p50 {p50:.1f}  p99 {p99:.0f} ms"
    p50, p99 = percentile(late, 0.5), percentile(late, 0.99)
    yield f"messages after a run's end   p50 {p50:.2f}  p99 {p99:.2f} s"
    for chore, seconds in stretch.lags.items():
        yield f"longest lag of {chore}   {seconds:.0f} s"
    yield f"everything done after the last run   {after_all:.0f} s"
    for name in sorted(after):
        cost = (after[name] - before[name]) * 1000 / len(stretch.firsts)
        yield f"processor time of a run, all that follows counted, {name}   {cost:.2f} ms"


def main() -> None:
    with this_host(AGUI_METRICS_KEY=KEY, AGUI_OUTBOUND_ALLOW="127.0.0.1") as host:
        keep("steady", list(figures(host)))


if __name__ == "__main__":
    main()
