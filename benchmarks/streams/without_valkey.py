"""How late events arrive with Valkey and without, in one run.

Hosts of both forms take turns, so that what else the machine does meets both. The promise is a
median without Valkey that is at most 5 ms later. ``BENCH_ROUNDS=1 STREAM_SECONDS=3`` is short.
"""

import asyncio
import itertools
import os

from benchmarks.latency import first_events, read_delays
from benchmarks.report import keep, percentile
from tests.acceptance.host import Host
from tests.acceptance.readers import open_client
from tests.conftest import own_data_dir

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
RUNS, RATE, SECONDS = 20, 20, int(os.environ.get("STREAM_SECONDS", "15"))
LATER = 5.0
FORMS: dict[str, dict[str, str]] = {"with Valkey": {}, "without": {"REDIS_URL": ""}}


async def delays(host: Host) -> list[float]:
    """Milliseconds between emission and arrival over all runs."""
    script = [{"sleep": 2}, {"text": "", "n": RATE * SECONDS, "rate": RATE}]
    async with open_client(host) as client:
        ids = [(await asyncio.to_thread(host.begin, script=script))["id"] for _ in range(RUNS)]
        per_run = await asyncio.gather(*(read_delays(client, run_id) for run_id in ids))
    return [delay for each in per_run for delay in each]


def measure(form: dict[str, str]) -> tuple[list[float], list[float]]:
    """Delays of events, and of first events after a POST."""
    with own_data_dir() as data:
        host = Host(data, **form)
        try:
            host.start(fsync=True)
            asyncio.run(first_events(host))  # warm up
            return asyncio.run(delays(host)), asyncio.run(first_events(host))
        finally:
            host.stop()


def main() -> None:
    events: dict[str, list[float]] = {name: [] for name in FORMS}
    starts: dict[str, list[float]] = {name: [] for name in FORMS}
    for _, name in itertools.product(range(ROUNDS), FORMS):
        late, first = measure(FORMS[name])
        events[name] += late
        starts[name] += first
    lines = [f"{ROUNDS} rounds in turns, {RUNS} runs × {RATE}/s for {SECONDS} s each"]
    for what, of in (("emit → received", events), ("POST → first event", starts)):
        for share in (0.5, 0.99):
            before, now = (percentile(of[name], share) for name in FORMS)
            lines.append(
                f"{what}  p{share * 100:g}: with {before:.1f} ms, without {now:.1f} ms,"
                f" later by {now - before:+.1f} ms, ratio {now / before:.2f}"
            )
    medians = [percentile(events[name], 0.5) for name in FORMS]
    verdict = "kept" if medians[1] - medians[0] <= LATER else "BROKEN"
    keep("without_valkey", [*lines, f"promise: p50 at most {LATER:g} ms later: {verdict}"])


if __name__ == "__main__":
    main()
