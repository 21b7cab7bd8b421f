"""``make histories``: a history of a host that is being hurt; the verdict is kept.

HISTORIES_SECONDS says for how long (600); ``--seed N`` is another order of load and faults.
"""

import argparse
import datetime
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.acceptance.host import ROOT
from tests.histories import faults, hosts, playing
from tests.histories.engines import ENGINES
from tests.histories.load.load import Size

RESULTS = Path(__file__).parent / "results"
LONG = Size(conversations=8, readers=12, deltas=300, rate=40)
LONG_SECONDS, PATIENCE = 12 * 3600.0, 900.0
EVENTS, READERS = 10**7, 10**4
"""What a long history has: events that were received, and readers that came to an end."""


def commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.strip() or "unknown"


def calibration() -> str:
    """Milliseconds of a fixed piece of Python, so that machines can be compared."""
    began = time.perf_counter()
    sum(number * number for number in range(2_000_000))
    return f"{(time.perf_counter() - began) * 1000:.0f} ms, {os.cpu_count()} cores"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("tests.histories", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=ENGINES, help="in place of one that up starts")
    parser.add_argument("--long", action="store_true", help=f"{EVENTS:,} events")
    parser.add_argument("--part", type=float, default=1.0, help="of a long history, such as 0.01")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """0 if nothing was wrong and each fault fired."""
    options = parse(arguments)
    seconds = float(os.environ.get("HISTORIES_SECONDS") or 600)
    size, name = Size(), options.engine or "one"

    def enough(counts: Counter[str]) -> bool:
        readers = counts["end"] + counts["leave"]
        return counts["event"] >= EVENTS * options.part and readers >= READERS * options.part

    if options.long:
        seconds = float(os.environ.get("HISTORIES_SECONDS") or LONG_SECONDS)
        size, name = LONG, f"{name}-long-{options.part:g}"
    name = f"{name}-seed-{options.seed}"
    history = ROOT / ".data" / f"history-{name}.jsonl"
    history.parent.mkdir(exist_ok=True)
    speed, began = calibration(), time.monotonic()
    with hosts.a_host(options.engine) as place:
        possible, missing = faults.possible(place)
        verdict = playing.play(
            place, history, seed=options.seed, seconds=seconds, size=size, faults=possible,
            enough=enough if options.long else lambda counts: False,
            patience=PATIENCE if options.long else 120.0,
        )  # fmt: skip
    lines = [
        f"seed {options.seed}, {time.monotonic() - began:.0f} s, commit {commit()}",
        f"machine: 2 million squares in {speed}",
        *([f"engine: {options.engine}"] if options.engine else []),
        *result_of(verdict, list(possible)),
        *(f"left out: {fault}: {why}" for fault, why in missing.items()),
        f"wrong: {len(verdict.violations)}",
    ]
    RESULTS.mkdir(exist_ok=True)
    day = datetime.datetime.now(datetime.UTC).date()
    (RESULTS / f"{day}-{name}.txt").write_text("\n".join(lines) + "\n")
    print(*lines, sep="\n")
    whole = verdict.faults.keys() == possible.keys()
    return 0 if whole and not verdict.violations and not verdict.refused else 1


def result_of(verdict: playing.Verdict, possible: list[str]) -> list[str]:
    return [
        f"lines: {dict(sorted(verdict.counts.items()))}",
        f"faults: {dict(sorted(verdict.faults.items()))}",
        f"transports: {dict(sorted(verdict.transports.items()))}",
        f"dialects: {dict(sorted(verdict.dialects.items()))}",
        f"runs: {dict(sorted(verdict.statuses.items()))}",
        *(f"not understood: {line}" for line in verdict.refused),
        *map(str, verdict.violations),
        *(f"did not fire: {name}" for name in possible if not verdict.faults[name]),
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
