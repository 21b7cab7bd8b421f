"""``make histories``: a history of a host that is being hurt; the verdict is kept.

HISTORIES_SECONDS says for how long (600); ``--seed N`` is another order of load and faults.
"""

import argparse
import datetime
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.acceptance.host import ROOT
from tests.conftest import own_data_dir
from tests.histories import playing
from tests.histories.load.load import Size
from tests.histories.nemesis import FAULTS

RESULTS = Path(__file__).parent / "results"


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


def main(arguments: list[str]) -> int:
    """0 if nothing was wrong and each fault fired."""
    parser = argparse.ArgumentParser("tests.histories", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    seconds = float(os.environ.get("HISTORIES_SECONDS") or 600)
    history = ROOT / ".data" / f"history-{options.seed}.jsonl"
    history.parent.mkdir(exist_ok=True)
    speed = calibration()
    with own_data_dir() as data, playing.a_host(data) as host:
        verdict = playing.play(
            host, history, seed=options.seed, seconds=seconds, size=Size(), faults=list(FAULTS)
        )
    day = datetime.datetime.now(datetime.UTC).date()
    wrong = [str(violation) for violation in verdict.violations]
    missing = [name for name in FAULTS if not verdict.faults[name]]
    lines = [
        f"seed {options.seed}, {seconds:.0f} s of load, commit {commit()}",
        f"machine: 2 million squares in {speed}",
        f"lines: {dict(sorted(verdict.counts.items()))}",
        f"faults: {dict(sorted(verdict.faults.items()))}",
        f"transports: {dict(sorted(verdict.transports.items()))}",
        f"runs: {dict(sorted(verdict.statuses.items()))}",
        *(f"not understood: {line}" for line in verdict.refused),
        *wrong,
        *(f"did not fire: {name}" for name in missing),
        f"wrong: {len(wrong)}",
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{day}-seed-{options.seed}.txt").write_text("\n".join(lines) + "\n")
    print(*lines, sep="\n")
    return 1 if wrong or verdict.refused or missing else 0


sys.exit(main(sys.argv[1:]))
