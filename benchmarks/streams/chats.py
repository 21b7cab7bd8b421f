"""What live chats cost: CHATS runs of RATE deltas a second each, with a reader each, for SECONDS.

Prints the cores that the host uses (web, worker, PostgreSQL, Valkey) and how late deltas arrive.
"""

import asyncio
import os
import time

from benchmarks.latency import read_delays
from benchmarks.report import keep, percentile
from tests.acceptance.host import Host, cpu_and_memory
from tests.acceptance.readers import open_client
from tests.conftest import own_data_dir

CHATS = int(os.environ.get("CHATS", "10"))
RATE = int(os.environ.get("RATE", "40"))
SECONDS = int(os.environ.get("SECONDS", "20"))
WARM = 4.0
"""Seconds until readers are there and the first deltas have come."""


def processor(host: Host) -> float:
    """Seconds of processor time that the host's processes have used."""
    pids = [each.process.pid for each in (host.web, host.worker) if each.process]
    pids += [int(file.read_text().split()[0]) for file in host.data.rglob("*.pid")]
    return sum(cpu_and_memory(pid)[0] for pid in pids)


async def chat(host: Host) -> tuple[float, list[float]]:
    """Cores, and the milliseconds between emission and arrival of each delta."""
    script = [{"sleep": 2}, {"text": "", "n": RATE * (SECONDS + 2), "rate": RATE}]
    async with open_client(host) as client:
        ids = [(await asyncio.to_thread(host.begin, script=script))["id"] for _ in range(CHATS)]
        readers = [asyncio.create_task(read_delays(client, run_id)) for run_id in ids]
        await asyncio.sleep(WARM)
        began, before = time.perf_counter(), processor(host)
        await asyncio.sleep(SECONDS - WARM)
        cores = (processor(host) - before) / (time.perf_counter() - began)
        delays = [delay for each in await asyncio.gather(*readers) for delay in each]
    return cores, delays


def main() -> None:
    with own_data_dir() as data:
        host = Host(data)
        try:
            host.start()
            cores, delays = asyncio.run(chat(host))
        finally:
            host.stop()
    keep(
        "chats",
        [
            f"{CHATS} chats of {RATE} deltas/s with a reader each, {SECONDS} s",
            f"  of one core {cores:.3f}, deltas that came {len(delays):,}",
            "  late by p50 {:.1f} ms, p99 {:.1f} ms".format(
                *(percentile(delays, part) for part in (0.5, 0.99))
            ),
        ],
    )


if __name__ == "__main__":
    main()
